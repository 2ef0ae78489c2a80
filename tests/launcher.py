"""What tests of several ranks share: mpirun, signals to one rank, who is left."""
import os
import shutil
import signal
import subprocess
import time

from program import PROGRAM, skip

if shutil.which('mpirun') is None:
    skip('no mpirun')
MPIRUN = ['mpirun', '--oversubscribe', '--bind-to', 'none']
if os.geteuid() == 0:
    MPIRUN.append('--allow-run-as-root')
# Open MPI's own leaks are not the program's.
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS='detect_leaks=0')


def launch(ranks, *words, apart=None):
    """mpirun with these words; rank r gets the words of apart[r] too."""
    command = list(MPIRUN)
    for r in range(ranks):
        command += [':'] if r > 0 and apart else []
        if apart or r == 0:
            command += ['-np', '1' if apart else str(ranks), PROGRAM, *map(str, words)]
            command += map(str, (apart or {}).get(r, ()))
    return command


def finish(command, timeout=120):
    begin = time.monotonic()
    p = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=ENVIRONMENT)
    p.took = time.monotonic() - begin
    return p


def said(p):
    return [line for line in p.stderr.split('\n') if line.startswith('gnnrun: ')]


def ranks_of(mpirun, count):
    """Process ids by rank, once all listen to signals."""
    found = {}
    while len(found) < count and mpirun.poll() is None:
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/environ', 'rb') as f:
                    names = dict(x.split(b'=', 1) for x in f.read().split(b'\0') if b'=' in x)
                with open(f'/proc/{pid}/status') as f:
                    status = dict(x.rstrip('\n').split(':\t', 1) for x in f if ':\t' in x)
                if int(status['PPid']) != mpirun.pid or b'OMPI_COMM_WORLD_RANK' not in names:
                    continue
                if int(status['SigCgt'], 16) >> (signal.SIGUSR1 - 1) & 1:
                    found[int(names[b'OMPI_COMM_WORLD_RANK'])] = int(pid)
            except (OSError, ValueError, KeyError):
                continue
    return found


def is_alive(pid):
    """Still there after a second, and not only because nobody has asked how it ended."""
    for _ in range(10):
        try:
            with open(f'/proc/{pid}/stat') as f:
                if f.read().rsplit(')', 1)[1].split()[0] == 'Z':
                    return False
        except OSError:
            return False
        time.sleep(0.1)
    return True


def disturb(test, command, ranks, number, rank, delay):
    """Sends a signal to a rank of the job; nobody is left when it is over."""
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env=ENVIRONMENT)
    pids = ranks_of(p, ranks)
    time.sleep(delay)
    begin = time.monotonic()
    try:
        os.kill(pids[rank], number)
    except (KeyError, ProcessLookupError):
        pass
    p.stdout, p.stderr = p.communicate(timeout=120)
    p.took = time.monotonic() - begin
    test.assertEqual([pid for pid in pids.values() if is_alive(pid)], [])
    return p
