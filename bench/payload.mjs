const pad = 'x'.repeat(64);

/** About 85 bytes of JSON: the payload of every measurement, raw limits included. */
export const payload = (i) => ({ i, pad });

export const payloadText = (i) => JSON.stringify(payload(i));

export const range = (from, count) => Array.from({ length: count }, (_, index) => from + index);
