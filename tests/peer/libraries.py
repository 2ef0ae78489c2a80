#!/usr/bin/env python3
"""Models of PyTorch Geometric and of DGL themselves, in float64 on whole graphs, against gnnrun.

usage: libraries.py GNNRUN [--data DIR] [--markdown] [--only TEXT] [-- INFER OPTIONS]

Runs with the library that the interpreter has (torch_geometric, dgl, or both) and skips with 77
without either. DGL's newest wheel of PyPI wants an environment of its own:

    pip install dgl==2.1.0 torch==2.2.1 torchdata==0.7.1 'numpy<2' pandas pydantic pyyaml

Weights are seeded; each state_dict is written as it is. Prints one row a model and
graph: the largest difference over the largest value, of gnnrun and of the library's own float32.
"""
import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
except ImportError as e:
    print(f'skipped: {e.name} is missing')
    sys.exit(77)

try:
    import torch_geometric
except ImportError:
    torch_geometric = None
try:
    import dgl
except (ImportError, FileNotFoundError, OSError):
    dgl = None


def safetensors(path, state, metadata):
    header, parts, at = {'__metadata__': metadata}, [], 0
    for name, t in state.items():
        a = t.detach().cpu().numpy()
        if a.dtype == np.int64:
            kind = 'I64'
        else:
            kind, a = 'F32', np.array(a, np.float32)
        header[name] = {'dtype': kind, 'shape': list(a.shape), 'data_offsets': [at, at + a.nbytes]}
        parts.append(a.tobytes())
        at += a.nbytes
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(len(text).to_bytes(8, 'little') + text + b''.join(parts))


def graphs(data):
    """Name, edges [2, E], V: one graph of both directions, one directed with gaps filled."""
    cora = np.load(os.path.join(data, 'cora', 'edges.npy')).astype(np.int64)
    yield 'cora', cora, 2708
    mail = np.loadtxt(os.path.join(data, 'email_eu_core', 'email-Eu-core.txt'), dtype=np.int64).T
    yield 'email', mail, 1005


class Zoo(torch.nn.Module):
    """A model of PyG called as it is."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, edges, vertices):
        return self.net(x, edges)

    def state(self):
        return self.net.state_dict()


class Layers(torch.nn.Module):
    """Layers of DGL as its examples stack them: activation between, heads flattened or averaged."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x, edges, vertices):
        g = dgl.graph((edges[0], edges[1]), num_nodes=vertices)
        for i, layer in enumerate(self.layers):
            last = i + 1 == len(self.layers)
            x = layer(g, x)
            if x.dim() == 3:
                x = x.mean(1) if last else x.flatten(1)
            x = x if last else torch.relu(x)
        return x

    def state(self):
        return self.state_dict()


def pyg_models(f):
    from torch_geometric.nn import models as zoo
    lib = {'gnnrun.library': 'pyg'}
    for kind, more in (('GCN', {}), ('GraphSAGE', {}), ('GIN', {}), ('GAT', {'heads': 4}),
                       ('GAT', {'heads': 4, 'v2': True}),
                       ('GAT', {'heads': 4, 'residual': True}),
                       ('GraphSAGE', {'aggr': 'max'})):
        told = dict(lib)
        if more.get('aggr'):
            told['gnnrun.aggregator'] = more['aggr']
        if more.get('v2') or more.get('residual'):
            name = 'GATv2' if more.get('v2') else 'GAT, residual'
        else:
            name = kind + (f", {more['aggr']}" if more.get('aggr') else '')
        for norm, jk in ((None, None), ('batch_norm', None), ('layer_norm', 'cat'),
                         ('layer_norm_node', 'max'), (None, 'last'), ('batch_norm', 'cat')):
            settings, extra, label = dict(told), {}, name
            if kind == 'GIN' and norm and norm.startswith('layer_norm'):
                continue  # its MLPs would have the norm too, which is refused
            if norm == 'layer_norm_node':
                extra = {'norm': 'layer_norm', 'norm_kwargs': {'mode': 'node'}}
                settings['gnnrun.layer_norm_mode'] = 'node'
            elif norm is not None:
                extra = {'norm': norm}
                if norm == 'layer_norm':
                    settings['gnnrun.layer_norm_mode'] = 'graph'
            if jk is not None:
                settings['gnnrun.jk'] = jk
            label += ''.join(f', {x}' for x in (norm, f'jk {jk}' if jk else None) if x)
            yield label, Zoo(getattr(zoo, kind)(f, 16, 3, 5, jk=jk, **extra, **more)), settings
    for name, jk in (('GCN, jk cat', 'cat'),):
        yield name + ', act first', Zoo(zoo.GCN(f, 16, 2, 5, jk=jk, norm='batch_norm',
                                                act_first=True)), {**lib, 'gnnrun.act_first': '1'}
    from torch_geometric.nn import GraphConv, Sequential
    for aggr in ('add', 'mean', 'max'):
        net = Sequential('x, e', [
            (GraphConv(f, 16, aggr=aggr), 'x, e -> x'), torch.nn.ReLU(),
            (GraphConv(16, 5, aggr=aggr), 'x, e -> x')])
        yield f'GraphConv, {aggr}', Zoo(net), {
            **lib, 'gnnrun.aggregator': 'sum' if aggr == 'add' else aggr}


def dgl_models(f):
    from dgl.nn.pytorch import GATConv, GATv2Conv, GINConv, GraphConv, SAGEConv
    lib, free = {'gnnrun.library': 'dgl'}, {'allow_zero_in_degree': True}
    for norm in ('both', 'right', 'left', 'none'):
        yield f'GraphConv, {norm}', Layers(GraphConv(f, 16, norm=norm, **free),
                                           GraphConv(16, 5, norm=norm, **free)), {
            **lib, 'gnnrun.norm': norm}
    for kind in ('mean', 'gcn', 'pool'):
        yield f'SAGEConv, {kind}', Layers(SAGEConv(f, 16, kind), SAGEConv(16, 5, kind)), lib

    def mlp(a, b):
        return torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.ReLU(), torch.nn.Linear(b, b))
    yield 'GINConv, sum', Layers(GINConv(mlp(f, 16), 'sum', 0.2),
                                 GINConv(mlp(16, 5), 'sum', -0.1)), lib
    for conv in (GATConv, GATv2Conv):
        for residual in (False, True):
            told = dict(lib)
            if residual:
                told['gnnrun.residual'] = '1,1,1'
            yield f'{conv.__name__}' + (', residual' if residual else ''), Layers(
                conv(f, 8, 4, residual=residual, **free),
                conv(32, 8, 4, residual=residual, **free),
                conv(32, 5, 3, residual=residual, **free)), told
    yield 'GATv2Conv, shared', Layers(GATv2Conv(f, 8, 4, share_weights=True, **free),
                                      GATv2Conv(32, 5, 1, share_weights=True, **free)), lib


def shake(net):
    """Seeded values everywhere: biases, norms and running statistics begin as 0 and 1."""
    for name, t in net.state_dict().items():
        if not t.dtype.is_floating_point:
            continue
        low, high = (0.5, 1.5) if name.endswith('running_var') else (-0.3, 0.3)
        if t.dim() == 1 and name.endswith('weight'):
            low, high = 0.5, 1.5
        if t.dim() < 2:
            t.copy_(torch.empty_like(t).uniform_(low, high))


def unshared(state):
    """What safetensors would keep: one name of each tensor."""
    kept, seen = {}, set()
    for name, t in state.items():
        if t.numel() > 0 and t.data_ptr() in seen:
            continue
        seen.add(t.data_ptr())
        kept[name] = t
    return kept


def error(got, want):
    return float(np.abs(got - want).max() / np.abs(want).max())


def main():
    argv, infer = sys.argv[1:], []
    if '--' in argv:
        argv, infer = argv[:argv.index('--')], argv[argv.index('--') + 1:]
    p = argparse.ArgumentParser()
    p.add_argument('gnnrun')
    here = os.path.dirname(os.path.realpath(__file__))
    p.add_argument('--data', default=os.path.join(here, '..', '..', '..', 'shared', 'data'))
    p.add_argument('--markdown', action='store_true')
    p.add_argument('--only', default='')
    a = p.parse_args(argv)
    if torch_geometric is None and dgl is None:
        print('skipped: neither torch_geometric nor dgl is here')
        return 77
    if not os.path.isdir(a.data):
        print(f'skipped: no graphs in {a.data}')
        return 77
    torch.manual_seed(0)
    torch.set_num_threads(1)
    bad, width = 0, 24
    with tempfile.TemporaryDirectory() as tmp:
        store, model, out, npy = (os.path.join(tmp, n) for n in
                                  ('g.h5', 'm.safetensors', 'e.h5', 'e.npy'))
        for graph, edges, vertices in graphs(a.data):
            x = np.random.default_rng(1).normal(size=(vertices, width)).astype(np.float32)
            np.save(os.path.join(tmp, 'edges.npy'), edges)
            np.save(os.path.join(tmp, 'feat.npy'), x)
            subprocess.run([a.gnnrun, 'import', os.path.join(tmp, 'edges.npy'), store,
                            '--vertices', str(vertices), '--features',
                            os.path.join(tmp, 'feat.npy')], check=True, capture_output=True)
            made = []
            if torch_geometric is not None:
                made += [('PyG ' + torch_geometric.__version__, *m) for m in pyg_models(width)]
            if dgl is not None:
                made += [('DGL ' + dgl.__version__, *m) for m in dgl_models(width)]
            for library, name, net, told in made:
                if a.only not in f'{library} {name} {graph}':
                    continue
                net.eval()
                with torch.no_grad():
                    shake(net)
                    e = torch.from_numpy(edges)
                    single = net(torch.from_numpy(x), e, vertices).numpy()
                    want = copy.deepcopy(net).double()(
                        torch.from_numpy(x).double(), e, vertices).numpy()
                safetensors(model, unshared(net.state()), told)
                run = subprocess.run([a.gnnrun, 'infer', store, '--model', model, '--out', out,
                                      *infer], capture_output=True, text=True)
                if run.returncode == 0:
                    subprocess.run([a.gnnrun, 'export', out, npy], check=True,
                                   capture_output=True)
                    ours, theirs = error(np.load(npy), want), error(single, want)
                    ok = ours <= max(4 * theirs, 1e-6)
                    text = f'{ours:.1e} | {theirs:.1e}'
                else:
                    ok, text = False, run.stderr.strip()[-160:]
                bad += not ok
                if a.markdown:
                    print(f'| {library} | {name} | {graph} | {text} |')
                else:
                    print('ok  ' if ok else 'FAIL', library, name, graph, text)
    return 1 if bad else 0


sys.exit(main())
