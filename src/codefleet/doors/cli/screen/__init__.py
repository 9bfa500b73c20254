"""The live screen of `fleet run` and `fleet watch`.

`rows` turns the board into lines of text and is pure; `app` shows them and reads keys; `actions`
calls one verb of the core for each key. Only `app` and what it imports need textual.
"""
