"""A conversation as a person has it, through a pseudo-terminal."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest
from server_process import MODEL, ServerProcess, clean_environment, program


PROMPT = r"2004h> "  # with the mark of a paste before it


class Terminal:
    """A program whose standard streams are a terminal."""

    def __init__(self, *words: str, home):
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (40, 200))
        environment = clean_environment(HOME=str(home), XDG_STATE_HOME=str(home / "state"), TERM="xterm", LC_ALL="C.UTF-8")
        # A session of its own, so that the terminal's Ctrl-C reaches it.
        self.process = subprocess.Popen(list(words), stdin=slave, stdout=slave, stderr=slave, env=environment,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.seen = ""

    def read(self, seconds: float) -> None:
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.master, 65536).decode(errors="replace")
            except OSError:  # the program has ended
                time.sleep(0.05)

    def wait_for(self, pattern: str, seconds: float = 60) -> str:
        """What came up to `pattern`; later waits look behind it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if found := re.search(pattern, self.seen):
                before, self.seen = self.seen[:found.end()], self.seen[found.end():]
                return before
            self.read(0.2)
        raise AssertionError(f"no {pattern!r} in {self.seen!r}")

    def prompt(self, pattern: str = PROMPT) -> None:
        """Up to a prompt at which keys are the program's. Until it reads, Ctrl-C and Ctrl-D are the terminal's."""
        self.wait_for(pattern)
        self.await_read()

    def await_read(self) -> None:
        """Until the program waits for a key."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            self.read(0.02)
            raw = not termios.tcgetattr(self.master)[3] & termios.ICANON
            if raw and Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S":
                return
        raise AssertionError(f"it does not wait for a key: {self.seen!r}")

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def end(self) -> int:
        until = time.monotonic() + 20
        while self.process.poll() is None and time.monotonic() < until:
            self.read(0.1)
        if self.process.poll() is None:
            self.process.kill()
        os.close(self.master)
        return self.process.wait()


@pytest.fixture
def chat(server, tmp_path):
    terminal = Terminal(program("inferctl"), "chat", "--url", server.url, "--temperature", "0", home=tmp_path)
    terminal.wait_for("lists commands")
    terminal.prompt()
    yield terminal
    if terminal.process.poll() is None:
        terminal.process.kill()
        terminal.process.wait()


def saved(chat: Terminal, path) -> dict:
    chat.type(f"/save {path}\r")
    chat.wait_for(r"messages are in")
    return json.loads(path.read_text())


def asked(conversation: dict) -> list[str]:
    return [m["content"] for m in conversation["messages"] if m["role"] == "user"]


def test_an_answer_has_a_line_of_its_speed(chat):
    chat.type("What is the capital of France?\r")
    answer = chat.wait_for(r"\(\d+ tokens?(, [\d.]+ tokens/s)?, first after [\d.]+ s\)")
    assert "Paris" in answer
    chat.type("/bye\r")
    assert chat.end() == 0


def test_ctrl_c_stops_the_answer_and_keeps_the_history(chat, tmp_path):
    def enter(line):
        chat.type(line + "\r")
        chat.prompt()

    enter("/set max_tokens 1500")
    for number in range(10):  # a fast machine may tell the whole story before the key comes
        enter("/reset")
        enter("/set ignore_eos false")
        enter("What is 2+2?")
        enter("/set ignore_eos true")  # the bundled model ends its answers soon
        chat.type(f"Tell me long story {number}.\r")
        chat.wait_for(rf"story {number}\.\s+\S+ \S+")
        chat.type("\x03")
        stopped = "stopped" in chat.wait_for(r"\((stopped after about )?\d+ tokens")
        chat.prompt()
        if stopped:
            break
        time.sleep(0.3)  # the key may have dropped the line that is to come
    else:
        raise AssertionError("no answer was stopped")
    conversation = saved(chat, tmp_path / "c.json")
    assert asked(conversation) == ["What is 2+2?", f"Tell me long story {number}."]
    assert "4" in conversation["messages"][1]["content"] and conversation["messages"][3]["content"]
    assert chat.process.poll() is None


def test_ctrl_c_at_the_prompt_drops_the_line(chat, tmp_path):
    chat.type("never sent\x03")
    chat.wait_for(r"\^C")
    chat.prompt()
    chat.type('"""never\r')
    chat.prompt(r"2004h\.\.\. ")
    chat.type("sent either\x03")
    chat.wait_for(r"\^C")
    chat.prompt()
    chat.type("What is 2+2?\r")
    chat.wait_for("first after")
    assert asked(saved(chat, tmp_path / "c.json")) == ["What is 2+2?"]


def test_an_interrupt_at_the_prompt_drops_the_line(chat, tmp_path):
    chat.type("What is 2+2?\r")
    chat.prompt()
    chat.type("never sent")
    chat.wait_for("never sent")
    chat.await_read()
    os.kill(chat.process.pid, signal.SIGINT)
    chat.wait_for(r"\^C")
    chat.prompt()
    chat.type("What is the capital of France?\r")
    assert "Paris" in chat.wait_for("first after")
    assert asked(saved(chat, tmp_path / "c.json")) == ["What is 2+2?", "What is the capital of France?"]


def test_an_interrupt_just_before_the_prompt_does_not_end_the_conversation(chat):
    chat.type("What is 2+2?\r")
    chat.wait_for("first after")
    os.kill(chat.process.pid, signal.SIGINT)
    chat.await_read()  # the prompt's own text may be lost to the signal
    time.sleep(0.3)
    assert chat.process.poll() is None
    chat.type("/model\r\r/model\r")  # one of them may be dropped
    chat.wait_for(rf"{MODEL.stem}  loaded")


def test_several_lines_by_quotes_and_by_a_paste(chat, tmp_path):
    chat.type('"""one\rtwo"""\r')
    chat.wait_for("first after")
    chat.type("\x1b[200~three\rfour \u00fc\x1b[201~\r")
    chat.wait_for("first after")
    assert asked(saved(chat, tmp_path / "c.json")) == ["one\ntwo", "three\nfour \u00fc"]


def test_a_conversation_is_saved_and_loaded(chat, server, tmp_path):
    chat.type("/system Answer in one word.\r/set temperature 0\rWhat is the capital of France?\r")
    chat.wait_for("first after")
    first = saved(chat, tmp_path / "c.json")
    assert first["system"] == "Answer in one word." and first["fields"]["temperature"] == 0
    chat.type(f"/reset\r/load {tmp_path}/c.json\r")
    chat.wait_for("2 messages from")
    assert saved(chat, tmp_path / "again.json") == first
    (tmp_path / "other").write_text("mine")
    chat.type(f"/save {tmp_path}/other\r")
    chat.wait_for("is no saved conversation; name another")
    assert (tmp_path / "other").read_text() == "mine"
    chat.type(f"/load {tmp_path}/other\r")
    chat.wait_for("is no saved conversation")


def test_commands_name_what_is_wrong(chat):
    chat.type("/modle x\r")
    chat.wait_for(r"no such command: '/modle'; did you mean '/model'\?; /\? lists them")
    chat.type("/set temprature 1\r")
    chat.wait_for("did you mean 'temperature'")
    chat.type("/model no-such-model\r")
    chat.wait_for("no-such-model")
    chat.type(f"/model {MODEL.stem}\r")
    chat.wait_for("answers from now on")
    chat.type("/model\r")
    chat.wait_for(rf"\* {MODEL.stem}  loaded")
    chat.type("/?\r")
    shown = chat.wait_for("Ctrl-C +stop an answer")
    for command in ("/model", "/system", "/set", "/save", "/load", "/reset", "/bye"):
        assert command in shown
    chat.prompt()
    chat.type("\x04")  # Ctrl-D
    assert chat.end() == 0


def test_the_history_of_an_earlier_session_comes_back(server, tmp_path):
    for type_it in ("What is 2+2?\r", "\x1b[A\x1b[A\r"):  # the second time with the arrow key, over /bye
        terminal = Terminal(program("inferctl"), "chat", "--url", server.url, "--temperature", "0", home=tmp_path)
        terminal.wait_for("> ")
        terminal.type(type_it)
        assert "4" in terminal.wait_for("first after")
        terminal.type("/bye\r")
        assert terminal.end() == 0


def test_a_server_that_ends_is_an_error_of_one_answer(tmp_path):
    with ServerProcess() as server:
        terminal = Terminal(program("inferctl"), "chat", "--url", server.url, home=tmp_path)
        terminal.wait_for("> ")
        server.stop(signal.SIGKILL)
        terminal.type("Hello?\r")
        terminal.wait_for("inferctl: cannot connect")
        terminal.type("/bye\r")
        assert terminal.end() == 0
