"""Search QA: answer questions, searching a collection of passages for what one does not know."""
