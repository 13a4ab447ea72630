import { filePieceText } from '../../protocol/link-terms.js';

export function pieceText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** Null: it is no base64 (with its padding), or longer than a piece. */
export function pieceOf(text: string): Uint8Array | null {
  if (text.length > filePieceText || text.length % 4 !== 0) return null;
  const bytes = Buffer.from(text, 'base64');
  // What is no base64 is passed over in decoding, so the length tells.
  return bytes.length === Buffer.byteLength(text, 'base64') && pieceText(bytes) === text ? bytes : null;
}
