"""What `asmevo --help` costs and looks like: it imports nothing heavy, and keeps to NO_COLOR."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HEAVY = ("numpy", "llvmlite", "z3", "lark", "pydantic", "networkx", "elftools", "yaml", "zstandard", "openai", "ray", "rocm")
COUNT = """
import sys
from asmevo.cli.main import main
sys.argv = ["asmevo", "--help"]
try:
    main()
except SystemExit:
    pass
print("\\n".join(sorted(sys.modules)), file=sys.stderr)
"""
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3\d|4\d|9\d|10\d)(?:;\d+)*m")


def python(*words, **environment):
    variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    variables |= {"PYTHONPATH": str(ROOT), "COLUMNS": "100", **environment}
    return subprocess.run([sys.executable, *words], env=variables, capture_output=True, text=True, timeout=60, check=True)


def test_help_imports_nothing_heavy():
    loaded = set(python("-c", COUNT).stderr.split())
    assert not loaded & set(HEAVY)
    own = {name for name in loaded if name.split(".")[0] == "asmevo"}
    # Each module costs about a millisecond; the commands import the library when they run.
    assert {name for name in own if not name.startswith("asmevo.cli")} == {"asmevo", "asmevo.diagnostics"}
    assert len(loaded) < 450


def test_no_color_is_kept():
    assert COLOUR.search(python("-m", "asmevo", "--help", FORCE_COLOR="1").stdout)
    assert not COLOUR.search(python("-m", "asmevo", "--help", FORCE_COLOR="1", NO_COLOR="1").stdout)


def test_a_pipe_gets_no_colour():
    assert "\x1b" not in python("-m", "asmevo", "--help").stdout
