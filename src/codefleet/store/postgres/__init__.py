"""The store for several machines: one PostgreSQL database, shared by all runners."""
