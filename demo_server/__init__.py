"""How the small demo, `gradio_app.py`, is served to strangers: what Gradio does not do by itself, a job a file.

    fields     image fields decode nothing and fetch nothing; an image stays a file or text until its call is at work
    uploads    few files a request; what broke off is deleted; what calls freed goes back to the machine
    tools      calls of the MCP tool hold no thread, count for their visitor, and are refused in a sentence
    turns      one queue for all calls, in which an address has its share, and addresses take turns
    streams    streams of events begin for what waits alone
    sentences  what is wrong with a call, in one sentence
    starting   a server that is waited for, however slow the machine
    serving    how the demo is launched: the limits, and what is closed

Imports nothing of the demo, no page code and no model.
"""

from __future__ import annotations

from demo_server import fields, starting, tools, uploads


def patch_gradio() -> None:
    """Change Gradio's classes as the files above say; once in a process, before a demo is built."""
    fields.take_files_alone()
    tools.make_one_client()
    tools.hand_on_images_as_text()
    tools.wait_without_a_thread()
    tools.refuse_in_a_sentence()
    uploads.take_few_files()
    starting.wait_for_the_server()
