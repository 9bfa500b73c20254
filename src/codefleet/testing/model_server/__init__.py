"""A model server that needs no model: it answers real agent programs with what a script says.

It speaks enough of four model APIs, on 127.0.0.1 only, for a program to work through a whole task:

| API                      | requests                                          |
|--------------------------|---------------------------------------------------|
| Anthropic Messages       | `POST .../messages`                               |
| OpenAI Responses         | `POST .../responses`                              |
| OpenAI Chat Completions  | `POST .../chat/completions`                       |
| Gemini                   | `POST .../MODEL:generateContent`, streamed or not |

A script is a JSON list of steps; each answers one request of the program. It stands in the prompt,
between `<<SCRIPT` and `SCRIPT>>`, or belongs to a name in the address (`ModelServer.script`). How
far a script has come is read from the conversation that the program sends along. So any number of
programs can work at once, and a session that is resumed goes on where it was.

Where a prompt has several scripts, the first is for the first time that the prompt comes in a
conversation, the second for the second time, and so on. With that a test can tell a session that
was resumed from one that was begun anew. `script.py` explains the steps.
"""

from codefleet.testing.model_server.script import prompt
from codefleet.testing.model_server.server import ModelServer, Request

__all__ = ["ModelServer", "Request", "prompt"]
