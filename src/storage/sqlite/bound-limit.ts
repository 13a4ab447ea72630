/**
 * A bound number of rows. SQLite 3.53 plans a statement anew each time a value is bound to a bare `limit ?`, to see
 * whether it is small: 5 µs for the simplest select, where running it takes 1 [measured]. An expression is not looked at.
 */
export const boundLimit = 'limit ? + 0';
