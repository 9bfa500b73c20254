"""How much one call may ask for."""

from typing import Annotated

from pydantic import Field

Limit = Annotated[int, Field(ge=1, le=200)]
Seq = Annotated[int, Field(ge=0, le=2**53)]
Line = Annotated[int, Field(ge=0, le=2**53)]
Lines = Annotated[int, Field(ge=1, le=5000)]
Seconds = Annotated[float, Field(ge=0, le=600)]
