/** As in `3.2 s`, for lines that tell of a wait. */
export const formatSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
