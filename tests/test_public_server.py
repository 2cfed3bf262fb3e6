"""A real public server and strangers on this machine: what they take of it, and what they are told."""

import asyncio
import hashlib
import random
from unittest.mock import MagicMock
from weakref import ref

import pytest
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime import media_file_manager
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.exceptions import InvalidStatus

from benchmarks.safety.hostile import Hostile
from benchmarks.safety.load import server
from core.base.gate import Limits
from core.base.public_mode import MAX_UPLOAD_BYTES, Held, _Bytes, beyond
from ui import put_aside
from ui import server as ui_server

MB = 1 << 20


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    """A server in public mode, without a worker on standby: its address, its process and its home."""
    with server(home=tmp_path_factory.mktemp("public"), app=("tests/gated_app.py",)) as found:
        yield found


@pytest.fixture
def strangers(public):
    """`strangers(i)` is the i-th of them, at an address of his own."""
    return lambda number=0: Hostile(number, public[0])


@pytest.mark.slow
def test_uploads_that_no_widget_asked_for_do_not_fill_the_memory(public, strangers):
    async def story():
        statuses = []
        for number in range(2):
            one = strangers(number)
            async with one.session() as session, one.client() as client:
                await session.open()
                before = public[1].memory_info().rss
                statuses += [await one.upload(client, session, str(i), bytes(15 * MB)) for i in range(10)]
        return statuses, public[1].memory_info().rss - before

    statuses, more = asyncio.run(story())
    assert statuses.count(204) == 2 * (Limits().quota.each // (15 * MB)) < len(statuses)
    assert set(statuses) <= {204, 429, 0}  # 0: hung up while it was still sending
    assert more < 150 * MB  # 300 MB were sent


def test_one_address_takes_its_share_of_connections_whatever_address_it_claims(strangers):
    """Each with a cookie of its own, and a forwarded address of its own."""

    async def story():
        one, held, refused = strangers(3), [], 0
        for _ in range(Limits().connections.each + 5):
            claim = ".".join(str(random.randrange(1, 255)) for _ in range(4))
            entered = one.session(**{"X-Forwarded-For": claim})
            try:
                await entered.__aenter__()
                held.append(entered)
            except InvalidStatus as error:
                refused += error.response.status_code == 403
        async with strangers(4).session() as session:
            await session.open()
        for entered in held:
            await entered.__aexit__(None, None, None)
        return len(held), refused

    assert asyncio.run(story()) == (Limits().connections.each, 5)


def states(session):
    """Values that no widget of the form would send: by name."""
    number, box = session.widgets("number_input")["Iterations T"], session.widgets("selectbox")["Preset"]
    return {
        "nan": WidgetState(id=number.id, double_value=float("nan")),
        "infinite": WidgetState(id=number.id, double_value=float("inf")),
        "unknown": WidgetState(id=box.id, string_value="no such preset"),
        "markup": WidgetState(id=box.id, string_value="<script>alert(1)</script>"),
    }


@pytest.mark.parametrize("what", ["nan", "infinite", "unknown", "markup"])
def test_a_value_that_no_widget_would_send_is_one_sentence_at_most(strangers, what):
    async def story():
        async with strangers(5).session() as session:
            await session.open()
            await session.open("Test-Time Matching", "run=new")
            await session.open("Test-Time Matching", "run=new", (states(session)[what],))
            return session.said(), [e for e in session.elements if e.WhichOneof("type") == "exception"]

    said, exceptions = asyncio.run(story())
    assert len(said) <= 1 and not exceptions
    assert all("internal error" not in text and "<script>" not in text for text in said)
    if what in ("nan", "infinite"):
        assert said == ["A field of this page received a value that it does not accept; reload the page."]


def test_what_only_the_owner_of_a_server_has_a_use_for_is_closed(strangers):
    async def story():
        async with strangers(6).client() as client:
            paths = ["/_stcore/metrics", "/_stcore/agent/openapi.json", "/_stcore/agent/interact"]
            closed = [(await client.get(path)).status_code for path in paths]
            long = (await client.get("/?set=" + "x" * 5000)).status_code
            return closed, long, [(await client.get(path)).status_code for path in ("/", "/_stcore/health")]

    assert asyncio.run(story()) == ([404] * 3, 414, [200, 200])


@pytest.mark.parametrize("states, letters", [(0, 140_000), (501, 0)])
def test_a_message_larger_than_any_page_sends_is_not_taken_in(strangers, states, letters):
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from websockets.exceptions import ConnectionClosed

    message = BackMsg()
    message.rerun_script.query_string = "x" * letters
    for _ in range(states):
        message.rerun_script.widget_states.widgets.add()

    async def story():
        async with strangers(7).session() as session:
            await session.open()
            with pytest.raises(ConnectionClosed) as closed:
                await session.line.send(message.SerializeToString())
                while True:
                    await session.line.recv()
            return closed.value.rcvd.code

    assert asyncio.run(story()) == 1009


def test_what_is_no_message_is_not_taken_in_either():
    """Streamlit wrote a traceback for each."""
    assert ui_server.widget_states(b"no message at all") > Limits().states > ui_server.widget_states(b"")


@pytest.mark.parametrize("kind", ["clear_cache", "set_run_on_save", "debug_shutdown_runtime"])
def test_no_visitor_empties_the_caches_of_all(kind):
    """Streamlit does, for whoever sends it one message of two bytes."""
    from streamlit.proto.BackMsg_pb2 import BackMsg

    message = BackMsg(**{kind: True}).SerializeToString()
    assert ui_server.widget_states(message) > Limits().states


ASK = (
    "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


@pytest.mark.parametrize("accepted", [False, True])
def test_a_connection_that_ends_early_has_ended_like_any_other(caplog, accepted):
    """uvicorn's own protocol over a line that is closing: it called the first message a mistake of the app, and what
    Streamlit asks of the connection after that another one. Once accepted it says that nobody is there, and what
    Streamlit asks after that was a mistake again."""
    ends, lines = [], []

    async def app(scope, receive, send):
        socket = WebSocket(scope, receive, send)
        await socket.accept()
        if accepted:
            lines[0].connection_lost(None)
        try:
            await socket.send_bytes(b"first")
        except (WebSocketDisconnect, RuntimeError) as error:
            ends.append(type(error))
        await socket.receive_bytes()

    async def story():
        config = Config(ui_server.EndedEarly(app), lifespan="off", log_config=None)
        protocol = WebSocketsSansIOProtocol(config, ServerState(), {})
        lines.append(protocol)
        closing = {"is_closing.return_value": not accepted}
        protocol.connection_made(MagicMock(**closing, **{"get_extra_info.return_value": None}))
        protocol.data_received(ASK.encode())
        await asyncio.gather(*protocol.tasks)

    asyncio.run(story())
    assert ends == [WebSocketDisconnect]
    assert not [record for record in caplog.records if record.exc_info]


# --- which uploads are given up


def test_of_uploads_the_oldest_go_first_in_a_session_an_address_and_altogether(monkeypatch):
    manager, uploads = MemoryUploadedFileManager("/upload"), ui_server.Uploads()
    monkeypatch.setattr(ui_server, "MAX_UPLOAD_BYTES", _Bytes(session=25, address=40, together=60))
    monkeypatch.setattr(
        ui_server.runtime, "get_instance", lambda: type("R", (), {"uploaded_file_mgr": manager})
    )

    def bring(session, name, who):
        manager.add_file(session, UploadedFileRec(name, name, "text/csv", bytes(10)))
        uploads.brought({"path": f"/_stcore/upload_file/{session}/{name}"}, who)
        return {s: list(files) for s, files in manager.file_storage.items() if files}

    bring("s1", "a", "ann")
    bring("s1", "b", "ann")
    assert bring("s1", "c", "ann") == {"s1": ["b", "c"]}
    bring("s2", "d", "ann")
    assert bring("s2", "e", "ann") == {"s1": ["b", "c"], "s2": ["d", "e"]}
    assert bring("s3", "f", "ann") == {"s1": ["c"], "s2": ["d", "e"], "s3": ["f"]}
    bring("s4", "g", "bob")
    bring("s4", "h", "bob")
    assert bring("s5", "i", "cem") == {"s2": ["d", "e"], "s3": ["f"], "s4": ["g", "h"], "s5": ["i"]}
    assert bring("s2", "d", "ann")["s2"] == ["d", "e"]  # the same file again is no more
    manager.remove_session_files("s2")
    assert bring("s6", "j", "dee").keys() == {"s3", "s4", "s5", "s6"}  # there is room again


def test_who_has_most_gives_where_all_have_too_much():
    items = [Held(i, who, 10) for i, who in enumerate("aaaabbc")]
    assert beyond(items, each=40, together=None) == []
    assert beyond(items, each=20, together=None) == [0, 1]
    assert beyond(items, each=40, together=50) == [0, 1]
    assert beyond(items, each=40, together=30) == [0, 1, 2, 4]
    assert beyond([], 1, 1) == []
    assert MAX_UPLOAD_BYTES.session <= MAX_UPLOAD_BYTES.address <= MAX_UPLOAD_BYTES.together


# --- pages that make room


def test_a_page_that_is_put_aside_holds_nothing_and_runs_whole_when_somebody_returns(monkeypatch):
    """With Streamlit's own stores: what they hold keeps all that a page has in memory."""

    class Held:
        def show(self, *args):
            return b""

    class Session(AppSession):
        def __init__(self):
            pass

        def __del__(self):
            pass

    held, session = Held(), Session()
    session.id, session._fragment_storage, session._session_state = (
        "s",
        MemoryFragmentStorage(),
        SessionState(),
    )
    session._fragment_storage.register("fragment", held.show)
    plain = {"deserializer": str, "serializer": str, "value_type": "string_value"}
    field = WidgetMetadata("field", **plain, callback=held.show, callback_args=(held,))
    session.session_state._new_widget_state.set_widget_metadata(field)
    downloads = MediaFileManager(MemoryMediaFileStorage("/media"))
    with monkeypatch.context() as inside:
        inside.setattr(media_file_manager, "_get_session_id", lambda: "s")
        file = downloads.add_deferred(held.show, "text/csv", "0.1", "x.csv")
    server = MagicMock(media_file_mgr=downloads)
    server._session_mgr.get_session_info.side_effect = {"s": MagicMock(session=session)}.get
    monkeypatch.setattr(put_aside.runtime, "exists", lambda: True)
    monkeypatch.setattr(put_aside.runtime, "get_instance", lambda: server)
    there = ref(held)
    del held, field

    session._state = AppSessionState.APP_IS_RUNNING
    put_aside.put_aside(["s", "gone"])
    assert there() is not None  # it is at work
    session._state = AppSessionState.APP_NOT_RUNNING
    put_aside.put_aside(["s", "gone"])
    assert there() is None
    rerun = MagicMock()
    monkeypatch.setattr(put_aside.st, "rerun", rerun)
    session._fragment_storage.lookup("fragment")()
    rerun.assert_called_once_with()
    said = MagicMock()
    monkeypatch.setattr(put_aside.st, "toast", said)
    session.session_state._new_widget_state.widget_metadata["field"].callback()
    assert "repeat what you did" in said.call_args.args[0]
    with pytest.raises(MediaFileStorageError, match="reload it, then download"):
        downloads.execute_deferred(file)


SECRET = "Geheimnis"
GUESSED = (  # where a visitor's files and downloads are, and the home folder, from what the server serves
    *("/_stcore/upload_file/{session}/mine.csv", "/_stcore/upload_file/{nobody}/mine.csv"),
    *(
        "/media/mine.csv",
        "/media/{digest}.csv",
        "/media/../uploads/",
        "/app/static/../../uploads/local/mine.csv",
    ),
    *(
        "/static/..%2f..%2f..%2fetc/passwd",
        "/media/%2e%2e/%2e%2e/etc/passwd",
        "/component/..%2f..%2fetc/passwd",
    ),
    "/component/streamlit/../../../../../../../../../etc/passwd",
)


@pytest.mark.slow
def test_nothing_of_anothers_is_behind_an_address_that_is_guessed(public, strangers):
    """Neither on a page by a file's name, nor by its id in a field, nor by a request; and nobody else deletes it."""
    scores = ((0, 0, 3), (0, 1, 1), (1, 0, 1), (1, 1, 2))
    content = "\n".join(
        ["group,image,caption,score", *(f"{SECRET},{i},{j},{s}" for i, j, s in scores)]
    ).encode()

    async def story():
        mine, other = strangers(0), strangers(1)
        async with mine.session() as own, mine.client() as client, other.session() as guest:
            await own.open()
            await mine.bring(client, own, "mine.csv", content)
            entry = own.widgets("selectbox")["Show the result of"].options[0]
            await own.open("Groups", f"set={entry}")
            assert SECRET in str(own.elements)  # else what follows shows nothing
            await guest.open()
            return entry, await pages(guest, entry), await requests(other, guest), await again(own, entry)

    async def pages(guest, entry):
        everything = "&".join(
            f"{name}={entry}" for name in ("set", "model", "run", "left", "scores", "group")
        )
        seen = {}
        for page in guest.pages:
            await guest.open(page, everything)
            seen[page] = str(guest.elements)
        return seen

    async def requests(other, guest):
        names = {"session": guest.id, "nobody": "00000000-0000-4000-8000-000000000000"}
        names["digest"] = hashlib.sha224(content).hexdigest()
        headers = {"X-Xsrftoken": guest.cookie, "Cookie": f"_streamlit_xsrf={guest.cookie}"}
        async with other.client() as client:
            asked = [(how, path.format(**names)) for how in ("GET", "DELETE") for path in GUESSED]
            return [(each, (await client.request(*each, headers=headers)).text) for each in asked]

    async def again(own, entry):
        await own.open("Groups", f"set={entry}")
        return str(own.elements)

    entry, seen, answers, still = asyncio.run(story())
    assert entry.endswith("mine.csv") and len(seen) > 10
    assert not [where for where, text in seen.items() if SECRET in text]
    assert not [where for where, text in answers if SECRET in text or "root:" in text]
    assert SECRET in still
