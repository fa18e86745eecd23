"""Playing episodes: jobs, programs, the scheduler, trajectories."""
