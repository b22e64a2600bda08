"""The copy of the tree that mutants are written into."""

import os
import subprocess
import time

import mutate


def test_a_source_that_comes_back_is_newer_than_what_was_built_of_its_mutant(tmp_path, monkeypatch):
    root, copy = tmp_path / "root", tmp_path / "copy"
    root.mkdir()
    for name in ("a.cpp", "b.cpp"):
        (root / name).write_text("int f();\n")
        os.utime(root / name, (1, 1))
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    monkeypatch.setattr(mutate, "ROOT", root)
    mutate.copy_tree(copy)
    unchanged = (copy / "b.cpp").stat().st_mtime_ns
    (copy / "a.cpp").write_text("int mutant();\n")
    built = time.time_ns()
    time.sleep(0.02)
    mutate.copy_tree(copy)
    assert (copy / "a.cpp").read_text() == "int f();\n"
    assert (copy / "a.cpp").stat().st_mtime_ns > built
    assert (copy / "b.cpp").stat().st_mtime_ns == unchanged
