"""Where a broker is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """host:port; an IPv6 address stands in brackets."""
        host, colon, port = text.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise ValueError(f"'{text}': an IPv6 address stands in brackets, as in [::1]:9092")
        if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError(f"'{text}' is not host:port, as in 127.0.0.1:9092")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(broker: str | Address) -> Address:
    return Address.parse(broker) if isinstance(broker, str) else broker
