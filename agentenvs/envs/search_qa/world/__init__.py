"""The embedded data of search QA: a generated fictional world, a closed tiny world, facts of the real world."""
