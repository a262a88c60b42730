"""The checks, a module for each chapter of the contract; they reach a loader only through a driver."""
