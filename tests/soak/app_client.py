"""A browser's part of the app's conversation, without the browser.

The app speaks protocol buffers over one websocket a tab: `BackMsg` says what the visitor did,
`ForwardMsg` what to draw. A `Tab` opens pages, changes widgets and asks again where a page wants
to be asked again, as the app's script in a browser does; what is drawn is only counted.
"""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from contextlib import suppress
from typing import Any
from uuid import uuid4

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

#: Seconds after which an answer counts as missing.
PATIENCE = 60.0


class Tab:
    """One tab of one visitor, who waits so many seconds for an answer."""

    def __init__(self, port: int, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.address = f"ws://127.0.0.1:{port}/_stcore/stream"
        self.page, self.query, self.page_hash = "", "", ""
        self.errors: list[str] = []
        self._drawn: dict[tuple[int, ...], Any] = {}
        self._kept: dict[str, Any] = {}
        self._states: dict[str, WidgetState] = {}
        self._pages: dict[str, str] = {}
        self._finished = asyncio.Condition()
        self._done: list[frozenset[str]] = []
        self._early: frozenset[str] | None = None
        self._timers: dict[str, asyncio.Task[None]] = {}
        self._session, self._is_drawn_anew = "", False

    async def __aenter__(self) -> Tab:
        origin = self.address.replace("ws", "http", 1).removesuffix("/_stcore/stream")
        self._socket: ClientConnection = await connect(
            self.address,
            max_size=None,
            origin=Origin(origin),
            subprotocols=[Subprotocol("streamlit")],
        )
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *exc: object) -> None:
        for task in (self._reader, *self._timers.values()):
            task.cancel()
        await self._socket.close()

    # -- what a visitor does ----------------------------------------------------------

    async def open(self, page: str, query: str) -> float:
        """Go to a page; the seconds until all of it was drawn."""
        self._stop_all()
        self._states.clear()
        self.page, self.query = page, query
        self.page_hash = self._pages.get(page, "")
        return await self._ask("", name=page)

    async def change(self, fragment: str, state: WidgetState) -> float:
        """Give a widget of a part of the page a value; the seconds until the answer was drawn."""
        self._states[state.id] = state
        return await self._ask(fragment)

    async def _set(self, key: str, **value: Any) -> None:
        delta, proto = await self._found(key)
        await self.change(delta.fragment_id, WidgetState(id=proto.id, **value))

    async def press(self, key: str) -> None:
        """Press a button, and wait until the answer is drawn."""
        await self._set(key, trigger_value=True)

    async def unfold(self, key: str) -> None:
        """Open what draws its content when it is open."""
        await self._set(key, bool_value=True)

    async def write(self, key: str, text: str) -> None:
        """Write into a field."""
        await self._set(key, string_value=text)

    async def tick(self, key: str, rows: list[int]) -> None:
        """Tick rows of a table."""
        chosen = {"selection": {"rows": rows, "columns": [], "cells": []}}
        await self.write(key, json.dumps(chosen))

    async def upload(self, key: str, name: str, data: bytes) -> None:
        """Hand a file in."""
        delta, proto = await self._found(key)
        asked = BackMsg()
        asked.file_urls_request.request_id = uuid4().hex
        asked.file_urls_request.file_names.append(name)
        asked.file_urls_request.session_id = self._session
        self._urls = asyncio.get_running_loop().create_future()
        await self._socket.send(asked.SerializeToString())
        urls = await asyncio.wait_for(self._urls, self.patience)
        await asyncio.to_thread(self._put, urls.upload_url, name, data)
        state = WidgetState(id=proto.id)
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.file_id, info.name, info.size = urls.file_id, name, len(data)
        info.file_urls.CopyFrom(urls)
        await self.change(delta.fragment_id, state)

    def keys(self) -> list[str]:
        """Keys of all that can be used on the page as it is."""
        ids = [getattr(_proto(delta), "id", "") for delta in self._drawn.values()]
        return [_key(i) for i in ids if i.startswith("$$ID-")]

    def drawn(self, kind: str) -> list[Any]:
        """What the page shows of one kind, such as "code" or "arrow_data_frame"."""
        return [_proto(delta) for delta in self._drawn.values() if _is(delta, kind)]

    async def key(self, start: str, *, exact: bool = False) -> str:
        """Wait for what has a key that begins so, as the page may be drawn anew; that key."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience):
                while not (found := [key for key in self.keys() if key.startswith(start)]) or (
                    exact and start not in found
                ):
                    await asyncio.sleep(0.05)
                return found[0]
        raise LookupError(f"{self.page} shows nothing of the key {start!r}, but {self.keys()}")

    async def _found(self, key: str) -> tuple[Any, Any]:
        await self.key(key, exact=True)
        protos = ((delta, _proto(delta)) for delta in self._drawn.values())
        return next(one for one in protos if _key(getattr(one[1], "id", "")) == key)

    def _put(self, url: str, name: str, data: bytes) -> None:
        """Send a file as a form of a browser does, with the cookie that keeps others from it."""
        root = self.address.replace("ws", "http", 1).removesuffix("/_stcore/stream")
        with urllib.request.urlopen(f"{root}/_stcore/health", timeout=self.patience) as answer:
            cookie = answer.headers.get("Set-Cookie", "").partition(";")[0]
        edge = uuid4().hex
        head = (
            f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        )
        request = urllib.request.Request(
            f"{root}/{url.lstrip('/')}",
            head.encode() + data + f"\r\n--{edge}--\r\n".encode(),
            {
                "Content-Type": f"multipart/form-data; boundary={edge}",
                "Cookie": cookie,
                "X-Xsrftoken": cookie.partition("=")[2],
            },
            method="PUT",
        )
        urllib.request.urlopen(request, timeout=self.patience).close()

    def widgets(self) -> list[tuple[str, WidgetState]]:
        """What can be changed on the page as it is: the part of the page, and another state."""
        found = ((delta.fragment_id, _changed(delta)) for delta in self._drawn.values())
        return [(fragment, state) for fragment, state in found if state is not None]

    @property
    def is_waiting(self) -> bool:
        """Whether a part of the page wants to be asked again, as while a job runs."""
        return bool(self._timers) or self._is_drawn_anew

    # -- the conversation -------------------------------------------------------------

    async def _ask(self, fragment: str, name: str = "") -> float:
        began = time.perf_counter()
        seen = len(self._done)
        await self._send(fragment, name)

        def is_answered() -> bool:
            # What another part of the page asked for meanwhile is no answer.
            return any(not of or fragment in of for of in self._done[seen:])

        async with self._finished:
            async with asyncio.timeout(self.patience):
                await self._finished.wait_for(lambda: is_answered() or self._reader.done())
        if self._reader.done():
            raise ConnectionError("the server closed the connection")
        return time.perf_counter() - began

    async def _send(self, fragment: str, name: str = "", is_auto: bool = False) -> None:
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string, asked.page_script_hash = self.query, self.page_hash
        asked.page_name, asked.fragment_id, asked.is_auto_rerun = name, fragment, is_auto
        asked.widget_states.widgets.extend(self._states.values())
        for pressed in [i for i, state in self._states.items() if state.trigger_value]:
            del self._states[pressed]  # told once, as by a browser: a timer may ask meanwhile
        asked.cached_message_hashes.extend(self._kept)
        asked.context_info.timezone = "Europe/Berlin"
        asked.context_info.url = self.address
        await self._socket.send(message.SerializeToString())

    async def _read(self) -> None:
        async for data in self._socket:
            assert isinstance(data, bytes)
            message = ForwardMsg()
            message.ParseFromString(data)
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self._is_drawn_anew = True
                self._session = message.new_session.initialize.session_id or self._session
                self.page_hash = message.new_session.page_script_hash or self.page_hash
                of = frozenset(message.metadata.run.fragment_ids)
                await self._settle(of)
                kept = {p: d for p, d in self._drawn.items() if of and d.fragment_id not in of}
                self._drawn = kept
                if not of:  # the whole page anew
                    self._stop_all()
            elif kind == "ref_hash":  # what this tab was sent before
                self._drawn[tuple(message.metadata.delta_path)] = self._kept[message.ref_hash]
            elif kind == "delta":
                self._drawn[tuple(message.metadata.delta_path)] = message.delta
                if message.metadata.cacheable:
                    self._kept[message.hash] = message.delta
                if _is(message.delta, "exception"):
                    said = message.delta.new_element.exception
                    place = " ".join(list(said.stack_trace)[-1:])
                    self.errors.append(f"{self.page}: {said.message} {place}")
            elif kind == "navigation":
                for page in message.navigation.app_pages:
                    self._pages["" if page.is_default else page.url_pathname] = (
                        page.page_script_hash
                    )
                self.page_hash = message.navigation.page_script_hash
            elif kind == "file_urls_response":
                self._urls.set_result(message.file_urls_response.file_urls[0])
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "auto_rerun":
                self._repeat(message.auto_rerun.fragment_id, message.auto_rerun.interval)
            elif kind == "stop_auto_rerun":
                for fragment in message.stop_auto_rerun.fragment_ids:
                    self._stop(fragment)
            elif kind == "script_finished":
                of = frozenset(message.metadata.run.fragment_ids)
                await self._finish(message.script_finished, of)

    async def _finish(self, how: int, of: frozenset[str]) -> None:
        status = ForwardMsg.ScriptFinishedStatus
        if how == status.FINISHED_WITH_COMPILE_ERROR:
            self.errors.append("the page cannot be compiled")
        if how == status.FINISHED_EARLY_FOR_RERUN:
            self._early = of
        else:
            self._is_drawn_anew = False
            await self._answered(of)

    async def _settle(self, of: frozenset[str]) -> None:
        """Tell a run that was ended by the next from one that the next only overtook.

        A part of the page never ends what is being drawn: where one is next, the run before
        it was finished, though the message that says so was rewritten before it was sent.
        """
        early, self._early = self._early, None
        if early is not None and of:
            await self._answered(early)

    async def _answered(self, of: frozenset[str]) -> None:
        async with self._finished:
            self._done.append(of)
            self._finished.notify_all()

    def _repeat(self, fragment: str, seconds: float) -> None:
        """Ask again for a part of the page, every so often, as it wishes."""

        async def ask() -> None:
            with suppress(Exception):  # the connection was closed
                while True:
                    await asyncio.sleep(seconds)
                    await self._send(fragment, is_auto=True)

        self._stop(fragment)
        self._timers[fragment] = asyncio.create_task(ask())

    def _stop_all(self) -> None:
        for fragment in list(self._timers):
            self._stop(fragment)

    def _stop(self, fragment: str) -> None:
        timer = self._timers.pop(fragment, None)
        if timer is not None:
            timer.cancel()


def _proto(delta: Any) -> Any:
    """What a part of the page is; None where it only holds others, and cannot be opened."""
    if delta.WhichOneof("type") != "new_element":
        return delta.add_block.popover if delta.add_block.HasField("popover") else None
    return getattr(delta.new_element, delta.new_element.WhichOneof("type") or "", None)


def _key(widget_id: str) -> str:
    """The key that the page gave a widget, which its id ends with."""
    return widget_id.split("-", 2)[-1]


def _is(delta: Any, kind: str) -> bool:
    is_new = delta.WhichOneof("type") == "new_element"
    return is_new and delta.new_element.WhichOneof("type") == kind


def _changed(delta: Any) -> WidgetState | None:
    """A state that the widget of a part of the page has not; None where it has no other."""
    proto = _proto(delta)
    if getattr(proto, "disabled", False) or getattr(proto, "form_id", ""):
        return None
    state = WidgetState(id=getattr(proto, "id", ""))
    if _is(delta, "selectbox") or _is(delta, "radio"):
        options = list(proto.options)
        at = options.index(proto.raw_value) if proto.raw_value in options else proto.default
        state.string_value = options[(at + 1) % len(options)] if options else ""
        return state if len(options) > 1 else None
    if _is(delta, "button_group"):
        options = [option.content for option in proto.options]
        chosen = list(proto.raw_values) if proto.set_value else [options[i] for i in proto.default]
        others = [option for option in options if option not in chosen]
        state.string_array_value.data.extend(others[:1])
        return state if others else None
    if _is(delta, "checkbox"):
        state.bool_value = not (proto.value if proto.set_value else proto.default)
        return state
    if _is(delta, "text_input") or _is(delta, "text_area"):
        state.string_value = "a big red heart" if proto.value != "a big red heart" else "a cat"
        return state
    return None
