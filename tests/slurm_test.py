#!/usr/bin/env python3
"""The job scripts of slurm/ under a real Slurm: one node on loopback, started and ended here.

usage: slurm_test.py GNNRUN

Needs root and the packages slurmctld, slurmd, slurm-client and munge; skips without them, and
where a Slurm or a munge daemon runs already.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

GNNRUN = os.path.abspath(sys.argv[1])
SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / 'slurm'
TOOLS = ('slurmctld', 'slurmd', 'munged', 'sbatch', 'scontrol', 'sinfo')
failed = 0


def why_skipped():
    missing = [t for t in TOOLS if shutil.which(t) is None and
               not os.path.exists(f'/usr/sbin/{t}')]
    if missing:
        return f'not installed: {", ".join(missing)}'
    if os.geteuid() != 0:
        return 'starting Slurm needs root'
    for daemon in ('slurmctld', 'slurmd', 'munged'):
        if subprocess.run(['pgrep', '-x', daemon], capture_output=True).returncode == 0:
            return f'a {daemon} runs already'
    return None


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Cluster:
    """munged, slurmctld and slurmd with all their files in one folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.host = socket.gethostname().split('.')[0]
        self.processes = []
        self.munge = pathlib.Path('/run/munge')
        conf = self.folder / 'slurm.conf'
        for name in ('state', 'spool'):
            (self.folder / name).mkdir()
        memory = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') >> 20
        conf.write_text('\n'.join([
            'ClusterName=test', f'SlurmctldHost={self.host}(127.0.0.1)', 'SlurmUser=root',
            'SlurmdUser=root', 'AuthType=auth/munge', f'StateSaveLocation={self.folder}/state',
            f'AuthInfo=socket={self.folder}/munge.socket,cred_expire=5',
            f'SlurmdSpoolDir={self.folder}/spool', f'SlurmctldPidFile={self.folder}/ctld.pid',
            f'SlurmdPidFile={self.folder}/d.pid', f'SlurmctldLogFile={self.folder}/ctld.log',
            f'SlurmdLogFile={self.folder}/d.log', f'SlurmctldPort={free_port()}',
            f'SlurmdPort={free_port()}', 'ProctrackType=proctrack/linuxproc',
            'TaskPlugin=task/none', 'SelectType=select/cons_tres',
            'SelectTypeParameters=CR_Core', 'ReturnToService=2', 'MpiDefault=pmix',
            'KillWait=5', 'SchedulerParameters=batch_sched_delay=0,sched_interval=2',
            'MinJobAge=300', 'PriorityType=priority/basic',
            f'NodeName={self.host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} '
            f'RealMemory={memory * 3 // 4} State=UNKNOWN',
            f'PartitionName=all Nodes={self.host} Default=YES MaxTime=INFINITE State=UP', '']))
        self.env = dict(os.environ, SLURM_CONF=str(conf), GNNRUN=GNNRUN,
                        GNN_SLURM=str(SCRIPTS), OMPI_ALLOW_RUN_AS_ROOT='1',
                        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                        PATH=os.environ['PATH'] + ':/usr/sbin')

    def start(self):
        key = self.folder / 'munge.key'
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.folder.chmod(0o755)
        self.spawn('munged', '--foreground', '--force', f'--key-file={key}',
                   f'--socket={self.folder}/munge.socket', f'--pid-file={self.folder}/m.pid',
                   f'--log-file={self.folder}/m.log', f'--seed-file={self.folder}/m.seed')
        self.spawn('slurmctld', '-D', '-c')
        self.spawn('slurmd', '-D', '-c')
        for _ in range(120):
            state = self.run('sinfo', '-h', '-o', '%T').stdout.strip()
            if state == 'idle':
                return True
            time.sleep(0.25)
        print(f'Slurm does not come up: {state}')
        for log in ('m.log', 'ctld.log', 'd.log'):
            path = self.folder / log
            print(log, path.read_text()[-2000:] if path.exists() else 'is missing')
        return False

    def spawn(self, *command):
        self.processes.append(subprocess.Popen(
            command, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True))

    def run(self, *command, **more):
        return subprocess.run([str(c) for c in command], env=dict(self.env, **more),
                              capture_output=True, text=True, timeout=300, cwd=self.folder)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def check(what, good, *texts):
    global failed
    if not good:
        failed += 1
        print(f'FAILED: {what}', *texts, sep='\n')


def gnnrun(*words):
    done = subprocess.run([GNNRUN, *map(str, words)], capture_output=True, text=True, timeout=300)
    check(' '.join(map(str, words)), done.returncode == 0, done.stderr)


def job(cluster, script, *words, **env):
    """Runs a job script to its end; its exit code and what it printed."""
    options = env.pop('options', [])
    done = cluster.run('sbatch', '--wait', '--parsable', f'--output={cluster.folder}/%j.out',
                       *options, SCRIPTS / script, *words, **env)
    path = cluster.folder / f'{done.stdout.strip().split(";")[0]}.out'
    return done.returncode, path.read_text() if path.exists() else done.stderr


def run_jobs(cluster):
    folder = cluster.folder
    store, model = folder / 'g.h5', folder / 'm.safetensors'
    gnnrun('generate', 'rmat', store, '--scale', '12', '--edge-factor', '8', '--feat-dim', '32')
    gnnrun('model', '--seeded', 'gcn', '--dims', '32,16,8', '--out', model)

    code, text = job(cluster, 'infer.sbatch', store, model, folder / 'one.h5')
    check('one task', code == 0 and (folder / 'one.h5').exists(), code, text)
    code, text = job(cluster, 'infer.sbatch', folder / 'none.h5', model, folder / 'no.h5')
    check('a store that is missing ends with 66', code == 66 and
          not (folder / 'no.h5').exists(), code, text)
    local = folder / 'local'
    code, text = job(cluster, 'infer.sbatch', store, model, folder / 'local.h5',
                     GNN_LOCAL=str(local))
    check('staged to a local disk', code == 0 and (local / 'g.h5').exists() and
          (folder / 'local.h5').exists(), code, text)


def run_ranks(cluster):
    """One node and several, by srun and by mpirun; a rank that fails; a sweep over ranks."""
    folder = cluster.folder
    store, model, out = folder / 'g.h5', folder / 'm.safetensors', folder / 'ranks.h5'
    two = ['--nodes=1', '--ntasks-per-node=2', '--ntasks=2']
    for script in ('infer-node.sbatch', 'infer-nodes.sbatch'):
        for launcher in ('srun', 'mpirun'):
            out.unlink(missing_ok=True)
            code, text = job(cluster, script, store, model, out, '--json', options=two,
                             GNN_LAUNCH=launcher)
            check(f'{script} by {launcher}', code == 0 and out.exists(), code, text)
            check(f'{launcher} starts two ranks', re.search('"ranks": ?2[,}]', text), text)
    for launcher in ('srun', 'mpirun'):
        code, text = job(cluster, 'infer-node.sbatch', folder / 'none.h5', model,
                         folder / 'no.h5', options=two, GNN_LAUNCH=launcher)
        check(f'ranks without a store end with 66 by {launcher}', code == 66, code, text)
    code, text = job(cluster, 'scaling.sbatch', folder / 'scaling', '--runs', '1', '--vertices',
                     '3000', '--feat-dim', '16', '--kinds', 'strong', '--backend', 'cpu',
                     '--folder', folder, options=two)
    check('a sweep', code == 0 and (folder / 'scaling.json').exists(), code, text)


def state(cluster, number):
    text = cluster.run('scontrol', 'show', 'job', number).stdout
    return dict(w.split('=', 1) for w in text.split() if '=' in w)


def run_requeued(cluster):
    """A training that is told to stop goes back into the queue, and on where it was."""
    folder = cluster.folder
    store, model = folder / 'labels.h5', folder / 't.safetensors'
    gnnrun('generate', 'sbm', store, '--vertices', '20000', '--communities', '4', '--feat-dim',
           '32')
    done = cluster.run('sbatch', '--parsable', f'--output={folder}/train.out', '--ntasks=2',
                       '--ntasks-per-node=2', SCRIPTS / 'train.sbatch', store, model,
                       '--epochs', '40', '--layers', '2', '--fanout', '10,10')
    number = done.stdout.strip().split(';')[0]
    log, stopped = folder / 'train.out', False
    for _ in range(1200):
        now = state(cluster, number)
        if now.get('JobState') in ('COMPLETED', 'FAILED', 'NODE_FAIL', 'CANCELLED'):
            break
        if not stopped and (folder / 't.safetensors.ckpt').exists():
            cluster.run('scancel', '--signal=USR1', '--batch', number)
            stopped = True
        time.sleep(0.1)
    text = log.read_text() if log.exists() else done.stderr
    check('a training is requeued once', stopped and now.get('JobState') == 'COMPLETED' and
          now.get('Restarts') == '1' and 'requeued as restart 1' in text, now, text)
    check('and ends with its model', model.exists(), text)


def main():
    why = why_skipped()
    if why is not None:
        print(f'skipped: {why}')
        return 77
    with tempfile.TemporaryDirectory(prefix='gnnrun-slurm-') as folder:
        cluster = Cluster(folder)
        try:
            if not cluster.start():
                return 1
            run_jobs(cluster)
            run_ranks(cluster)
            run_requeued(cluster)
        finally:
            cluster.stop()
    print('failed' if failed else 'all passed')
    return 1 if failed else 0


sys.exit(main())
