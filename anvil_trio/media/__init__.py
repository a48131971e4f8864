"""Media workflows for callers of other protocols: MCP, A2A and the download of artifacts."""
