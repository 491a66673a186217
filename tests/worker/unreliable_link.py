"""An unreliable link: a proxy that delays every response and cuts some connections."""

import asyncio
import random
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from urllib.parse import urlsplit


@contextmanager
def unreliable_link(
    url: str, *, delay_s: float, cuts: float, seed: int
) -> Iterator[tuple[str, list[int]]]:
    """Yields the URL to use instead, and a list with an item for each connection that
    was cut.
    """
    rng = random.Random(seed)  # noqa: S311
    cut: list[int] = []
    target = urlsplit(url)
    loop = asyncio.new_event_loop()

    async def pump(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float
    ) -> None:
        with suppress(OSError):
            while part := await reader.read(1 << 16):
                await asyncio.sleep(delay)
                if rng.random() < cuts:  # in the middle of a request or of a response
                    cut.append(len(part))
                    break
                writer.write(part)
                await writer.drain()
        writer.transport.abort()

    async def connect(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            onward, back = await asyncio.open_connection(target.hostname, target.port)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(pump(reader, back, 0.0), pump(onward, writer, delay_s))

    with closing(loop):
        server = loop.run_until_complete(asyncio.start_server(connect, "127.0.0.1", 0))
        port = server.sockets[0].getsockname()[1]
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}", cut
        finally:
            asyncio.run_coroutine_threadsafe(_end(server), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


async def _end(server: asyncio.Server) -> None:
    server.close()
    own = asyncio.current_task()
    tasks = [task for task in asyncio.all_tasks() if task is not own]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
