const maxLength = 80;

/**
 * A short, one-line, printable rendition of any value for an error message. Never throws and never
 * runs user code other than reading a constructor name. Not for secrets: mask those first.
 */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > maxLength
        ? `${JSON.stringify(value.slice(0, maxLength))}… (${value.length} characters)`
        : JSON.stringify(value);
    case 'bigint':
      return `${value}n`;
    case 'function':
      return 'a function';
    case 'symbol':
      return 'a symbol';
    case 'object':
      return value === null ? 'null' : describeObject(value);
    default:
      return String(value);
  }
}

function describeObject(value: object): string {
  try {
    if (Array.isArray(value)) return `an array of ${value.length}`;
    const name: unknown = value.constructor?.name;
    if (typeof name !== 'string' || name === '' || name === 'Object') return 'an object';
    return `an object of class ${name.slice(0, maxLength)}`;
  } catch {
    // A proxy or getter that throws: there is nothing more to say about it.
    return 'an object';
  }
}
