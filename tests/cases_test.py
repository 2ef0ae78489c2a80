#!/usr/bin/env python3
"""The handed reference cases (outputs of PyTorch Geometric), where they lie beside the checkout.

usage: cases_test.py GNNRUN [options of the cases' check script]
"""
import os
import subprocess
import sys

from program import PROGRAM, SHARED, skip

check = os.path.join(SHARED, 'cases', 'check')
if not os.path.exists(check):
    skip(f'no reference cases at {os.path.normpath(check)}')
sys.exit(subprocess.run([sys.executable, check, PROGRAM, *sys.argv[2:]]).returncode)
