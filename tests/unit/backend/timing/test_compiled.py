"""The integer subset of Python: native code gives what the interpreter gives, and what is not in the subset is refused."""

import gc
import sys
import types

import numpy as np
import pytest

from asmevo.backend.timing import compiled

SOURCE = '''
Words = list[int]
SIZE, STEP = 8, 3


def fill(words: Words, start: int) -> int:
    """Every kind of statement and expression once."""
    total: int = 0
    for n in range(SIZE):
        if n % 2 == 0 and not n == 4:
            words[n] = start << n
        elif n == 4 or n == 5:
            words[n] = -n if start > 2 else max(n, STEP)
            continue
        else:
            words[n] += _half(n) ^ 5
        total += words[n]
    while total > 100:
        total -= 7
        if total < 90:
            break
    for n in range(2, 4):
        total = min(total, 50 + n) | 1
    return total & (1 < start <= 9)


def _half(n: int) -> int:
    if n > 5:
        return n >> 1
    return n // 2 * STEP
'''


def module_of(source, tmp_path, name):
    path = tmp_path / f"{name}.py"
    path.write_text(source)
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(source, str(path), "exec"), module.__dict__)
    for value in module.__dict__.values():
        if isinstance(value, types.FunctionType):
            value.__module__ = name
    return module


@pytest.mark.parametrize("start", [0, 1, 3, 9, 1000])
def test_native_code_does_what_the_interpreter_does(tmp_path, start, monkeypatch):
    module = module_of(SOURCE, tmp_path, "subset_probe")
    monkeypatch.setattr(compiled.inspect, "getsource", lambda _: SOURCE)
    words = [7] * 8
    expected = module.fill(words, start)
    array = np.full(8, 7, np.int64)
    function = compiled.native_function(module, "fill")
    assert function(array.ctypes.data, start) == expected
    assert array.tolist() == words


@pytest.mark.parametrize(
    "body",
    [
        "return 1.5",
        "return words",
        "return other.value",
        "return unknown(n)",
        "return max(n, 1, 2)",
        "return n / 2",
        "return n ** 2",
        "return n is None",
        "words[0:2] = n",
        "n, k = 1, 2",
        "with n: pass",
        "raise ValueError",
        "return [n]",
        "return undefined_name",
    ],
)
def test_what_is_not_in_the_subset_is_refused_with_its_line(tmp_path, body, monkeypatch):
    source = f"Words = list[int]\n\n\ndef probe(words: Words, n: int) -> int:\n    {body}\n"
    module = module_of(source, tmp_path, "refused_probe")
    monkeypatch.setattr(compiled.inspect, "getsource", lambda _: source)
    with pytest.raises(compiled.NotInSubset, match=r"refused_probe\.py:5: "):
        compiled.translate(module)


def test_a_function_outlives_the_engines_that_are_kept(tmp_path, monkeypatch):
    """Engines of a few modules are kept; the code of one that had to go still runs for who holds its function."""
    monkeypatch.setattr(compiled.inspect, "getsource", lambda _: SOURCE)
    function = compiled.native_function(module_of(SOURCE, tmp_path, "kept_probe"), "fill")
    before, after = np.full(8, 7, np.int64), np.full(8, 7, np.int64)
    expected = function(before.ctypes.data, 3)
    for number in range(6):
        compiled.native_function(module_of(SOURCE, tmp_path, f"other_probe_{number}"), "fill")
    gc.collect()
    assert function(after.ctypes.data, 3) == expected
    assert after.tolist() == before.tolist()
