"""What the scripts here share: arguments, and programs run to their end."""
import json
import os
import subprocess
import sys


def arguments(parser):
    """The arguments, and the options of the program behind `--`."""
    end = sys.argv.index('--') if '--' in sys.argv else len(sys.argv)
    return parser.parse_args(sys.argv[1:end]), sys.argv[end + 1:]


def run(*command, **more):
    """What a program prints. One that fails ends the script with its message."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f'{" ".join(map(str, command))[:500]}: exit {done.returncode}\n{done.stderr}')
    return done.stdout


def run_watched(*command):
    """The JSON object that a program prints, {} if it prints none, and the system's account of it.

    What it says to standard error is passed on."""
    p = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True)
    text = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode != 0:
        sys.exit(f'{" ".join(map(str, command))[:500]}: exit {p.returncode}')
    return json.loads(text) if text.startswith('{') else {}, usage
