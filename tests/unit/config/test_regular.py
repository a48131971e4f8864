"""Capturing a file: once, within a bound, and only if it is a plain one."""

import os
import stat

import pytest

from anvil_trio.config import regular
from anvil_trio.config.regular import read_regular


def test_the_bytes_are_those_of_the_file(tmp_path):
    """None is changed; a link is followed."""
    data = bytes(range(256)) + b"\r\n\x1a"
    (tmp_path / "file").write_bytes(data)
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "file", 1000) == data
    assert read_regular(tmp_path / "link", 1000) == data


def test_one_byte_too_many_is_read_and_no_more(tmp_path):
    """It tells that there is one."""
    (tmp_path / "file").write_bytes(b"x" * 100)
    assert read_regular(tmp_path / "file", 10) == b"x" * 11
    assert read_regular(tmp_path / "file", 100) == b"x" * 100


def test_a_file_is_opened_once(tmp_path, monkeypatch):
    """Whoever replaces it afterwards changes nothing."""
    path = tmp_path / "file"
    path.write_bytes(b"first")
    opened = []
    real = os.open

    def counting(*args):
        opened.append(args[0])
        descriptor = real(*args)
        (tmp_path / "other").write_bytes(b"second")
        (tmp_path / "other").replace(path)
        return descriptor

    monkeypatch.setattr(os, "open", counting)
    assert read_regular(path, 100) == b"first"
    assert opened == [path]
    assert path.read_bytes() == b"second"


def make_fifo(path):
    """A pipe into which nobody writes."""
    os.mkfifo(path)


@pytest.mark.parametrize(
    "make", [make_fifo, os.mkdir, lambda path: path.symlink_to("/dev/zero"), lambda path: None]
)
def test_what_is_no_regular_file_is_refused_at_once(tmp_path, make, monkeypatch):
    """A pipe, a directory, a device and nothing at all; none of them is opened."""
    path = tmp_path / "thing"
    make(path)
    monkeypatch.setattr(os, "open", None)
    with pytest.raises((OSError, ValueError)):
        read_regular(path, 10)


def test_a_pipe_that_took_the_place_of_a_file_is_refused_too(tmp_path, monkeypatch):
    """It is opened without waiting for a writer, and then looked at."""
    path = tmp_path / "file"
    path.write_bytes(b"x")
    real = os.open

    def swapping(*args):
        path.unlink()
        os.mkfifo(path)
        return real(*args)

    monkeypatch.setattr(os, "open", swapping)
    with pytest.raises(ValueError, match=r"^$"):
        regular.read_regular(path, 10)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_path_with_a_null_character_is_refused(tmp_path):
    """Like any that leads nowhere."""
    with pytest.raises(ValueError, match="null"):
        read_regular(tmp_path / "a\0b", 10)


class Waiting:
    """A file that has nothing to say yet."""

    def __init__(self, descriptor, _mode):
        self.descriptor = descriptor

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.descriptor)

    def read(self, _size):
        """What a non-blocking read gives where there is nothing."""
        return


def test_a_file_that_waits_for_news_is_refused(tmp_path, monkeypatch):
    """A log of the kernel is a plain file and has no end."""
    (tmp_path / "file").write_bytes(b"x")
    monkeypatch.setattr(os, "fdopen", Waiting)
    with pytest.raises(BlockingIOError):
        read_regular(tmp_path / "file", 10)
