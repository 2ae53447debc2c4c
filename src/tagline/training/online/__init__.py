"""Learning from mistakes, a sentence at a time: `learner` has what these algorithms share."""
