#!/usr/bin/env python3
"""Ranks: messages and collectives, and that one rank's failure ends all of them.

usage: mpi_test.py PROBE        (tests/mpi/comm_probe.c)
"""
import os
import re
import shutil
import subprocess
import sys
import time

probe = sys.argv[1]
failed = 0
# Open MPI keeps what it took until the process ends, in modules it has unloaded by then.
environment = dict(os.environ, ASAN_OPTIONS=':'.join(
    filter(None, (os.environ.get('ASAN_OPTIONS'), 'detect_leaks=0'))))


def launch(ranks, *words):
    command = ['mpirun', '-np', str(ranks), '--oversubscribe', '--bind-to', 'none']
    if os.geteuid() == 0:
        command.append('--allow-run-as-root')
    start = time.monotonic()
    done = subprocess.run(command + [probe, *map(str, words)], capture_output=True, text=True,
                          timeout=120, env=environment)
    done.took = time.monotonic() - start
    return done


def check(what, good, done):
    global failed
    if not good:
        failed += 1
        print(f'FAILED: {what}: exit {done.returncode} after {done.took:.1f} s\n{done.stdout}'
              f'{done.stderr}')


def said(done):
    return re.findall(r'^gnnrun: (.*)$', done.stderr, re.M)


def main():
    if shutil.which('mpirun') is None:
        print('skipped: no mpirun')
        return 77
    for ranks in (1, 2, 7):
        done = launch(ranks, 'exchange')
        check(f'exchange of {ranks}', done.returncode == 0 and done.stdout == 'all well\n', done)
    for ranks, culprits in ((2, [0]), (4, [2]), (4, [3, 1]), (3, [0, 1, 2])):
        done = launch(ranks, 'fail', *culprits)
        text = said(done)
        wanted = [('' if r == 0 else rf'rank {r} on \S+: ') + f'a byte of rank {r} is wrong'
                  for r in culprits]  # whose news was first, when several fail
        check(f'ranks {culprits} of {ranks} fail', done.returncode == 65 and len(text) == 1 and
              any(re.fullmatch(w, text[0]) for w in wanted), done)
    for ranks, silent in ((3, 2), (2, 0)):
        done = launch(ranks, 'stop', silent)
        text = said(done)
        check(f'rank {silent} of {ranks} stops', done.returncode == 74 and len(text) == 1 and
              re.match(rf'rank {silent} on \S+: silent for \d+ s \(last at: working\)', text[0])
              and done.took < 2 + 10 + 5, done)
    done = launch(3, 'kill', 1)
    check('rank 1 is killed', done.returncode == 137 and done.took < 12, done)
    alone = subprocess.run([probe, 'exchange'], capture_output=True, text=True,
                           env=dict(environment, SLURM_STEP_NUM_TASKS='4'), timeout=60)
    alone.took = 0
    check('a lone program of four tasks is refused', alone.returncode == 78 and
          'srun --mpi=pmix' in alone.stderr, alone)
    print('failed' if failed else 'all passed')
    return 1 if failed else 0


sys.exit(main())
