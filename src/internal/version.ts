/** The version of this package; a test compares it with package.json, which bundled code can't read. */
export const version = '0.1.0';
