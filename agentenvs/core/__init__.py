"""The contract: environments, tasks, tools, chance, infos and errors."""
