"""The names by which nouns refer to one another."""

from typing import NewType

TaskId = NewType("TaskId", str)
RunId = NewType("RunId", str)
RunnerId = NewType("RunnerId", str)
QuestionId = NewType("QuestionId", str)
MessageId = NewType("MessageId", str)
TokenId = NewType("TokenId", str)
InviteId = NewType("InviteId", str)
AlertId = NewType("AlertId", str)
SwarmId = NewType("SwarmId", str)
CheckpointId = NewType("CheckpointId", str)
ReviewId = NewType("ReviewId", str)
PostId = NewType("PostId", str)
