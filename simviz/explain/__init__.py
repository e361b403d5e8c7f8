"""Why a model answers as it does: the terms behind a score, and topics."""
