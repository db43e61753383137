# The default training text: Tare's own sources and docs, joined in sorted order.
