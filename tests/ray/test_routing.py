"""Which replica gets a request: prefixes, sessions and queues, without a cluster."""

import random
import string

import pytest
from inferflux_serve.load import Load, parse_load, replicas_for
from inferflux_serve.prefix_index import PIECE, PrefixIndex, pieces_of
from inferflux_serve.request_key import RequestKey, key_of, parse, prompt_text
from inferflux_serve.router import BUSIER, rank, session_order
from inferflux_serve.settings import AppSettings
from pydantic import ValidationError


def test_equal_beginnings_have_equal_pieces_and_only_those():
    pick = random.Random(7)
    for _ in range(200):
        text = "".join(pick.choices(string.printable, k=pick.randrange(4 * PIECE)))
        cut = pick.randrange(len(text) + 1)
        other = text[:cut] + "\0" + text[cut + 1 :]
        same = sum(a == b for a, b in zip(pieces_of(text), pieces_of(other)))
        assert same == (cut // PIECE if cut < len(text) else len(text) // PIECE)


def test_the_replica_with_the_longest_beginning_is_first():
    index = PrefixIndex()
    long = "x" * (4 * PIECE)
    index.add(pieces_of(long[: 2 * PIECE]), "a")
    index.add(pieces_of(long), "b")
    queues = {"a": 0, "b": 0, "c": 0}
    assert rank(RequestKey(), pieces_of(long), index, queues)[:2] == ["b", "a"]
    assert rank(RequestKey(), pieces_of("y" * 1024), index, {"a": 2, "b": 1, "c": 0}) == ["c", "b", "a"]


def test_a_beginning_is_not_waited_for_behind_a_long_queue():
    index = PrefixIndex()
    pieces = pieces_of("x" * 1024)
    index.add(pieces, "a")
    assert rank(RequestKey(), pieces, index, {"a": BUSIER, "b": 0})[0] == "a"
    assert rank(RequestKey(), pieces, index, {"a": BUSIER + 1, "b": 0})[0] == "b"


def test_a_replica_to_avoid_is_the_last_even_for_its_own_session():
    first = session_order("s", ["a", "b", "c"])[0]
    assert rank(RequestKey(session="s"), [], PrefixIndex(), {"a": 0, "b": 0, "c": 0})[0] == first
    assert rank(RequestKey(session="s", avoid=(first,)), [], PrefixIndex(), {"a": 0, "b": 0, "c": 0})[-1] == first


def test_only_the_sessions_of_a_lost_replica_move():
    names = [f"r{i}" for i in range(8)]
    before = {s: session_order(str(s), names)[0] for s in range(500)}
    after = {s: session_order(str(s), names[:-1])[0] for s in range(500)}
    assert {s for s in before if before[s] != after[s]} == {s for s in before if before[s] == names[-1]}
    assert min(list(before.values()).count(name) for name in names) > 30


def test_the_index_is_bounded_and_forgets_replicas():
    index = PrefixIndex(most=10)
    index.add(pieces_of("x" * (20 * PIECE)), "a")
    assert len(index) == 10
    index.forget("a")
    assert len(index) == 0


def test_what_a_request_begins_with_is_in_the_order_of_a_template():
    body = parse(b'{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"system":"be kind","model":"m"}')
    assert prompt_text(body) == "be kind\nuser\ntext\nhi"
    assert key_of(body, {"x-session-id": "s"}) == RequestKey("s", "be kind\nuser\ntext\nhi")
    assert prompt_text({"prompt": [1, 22]}) == "1\n22"
    for bad in (b"", b"[1]", b"{", b"[" * 100_000, b"\xff"):
        assert parse(bad) is None


def test_load_is_read_from_metrics_and_decides_the_number_of_replicas():
    text = ('# TYPE inferflux_queue_depth gauge\ninferflux_queue_depth{model="a"} 3\ninferflux_queue_depth{model="b"} 2\n'
            'inferflux_running_sequences{model="a"} 16\ninferflux_kv_cache_utilization{model="a"} 0.5\n'
            'inferflux_kv_cache_utilization{model="b"} 0.95\ninferflux_queue_depth_other 9\ninferflux_queue_depth{model="c"} NaN\n')
    load = parse_load(text)
    assert (load.waiting, load.running, load.kv) == (5, 16, 0.95)
    assert replicas_for([load], 1, 16, 0.99) == 2
    assert replicas_for([load, Load()], 2, 100, 0.9) == 1  # KV is short on one only
    assert replicas_for([Load(1, 0, 0.95), Load(1, 0, 0.92)], 2, 100, 0.9) == 3
    assert replicas_for([], 0, 16, 0.9) == 1


@pytest.mark.parametrize(("change", "word"), [
    ({"models": []}, "models"), ({"models": [{"id": "a b", "path": "/m"}]}, "model id"), ({"models": [{"id": "a", "path": "/m"}, {"id": "a", "path": "/m"}]}, "two models"),
    ({"models": [{"id": "inferflux-tiny", "min_replicas": 3, "max_replicas": 2}]}, "max_replicas"), ({"models": [{"id": "inferflux-tiny"}], "atempts": 3}, "atempts"),
    ({"models": [{"id": "inferflux-tiny"}], "api_keys_file": "keys"}, "absolute"),
    ({"models": [{"id": "a"}]}, "path is missing"),
])
def test_wrong_settings_are_named(change, word):
    with pytest.raises(ValidationError, match=word):
        AppSettings(**change)
