"""What every actor shares: reply slot, mailbox, supervision, the event bus."""
