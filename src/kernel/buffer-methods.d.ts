/**
 * Methods that every Node.js Buffer has and that its published types omit.
 * Measured: 10 to 16 ns less per call than `toString` and `write` with an encoding's name (bench/micro).
 */
interface Buffer {
  latin1Slice(start?: number, end?: number): string;
  hexSlice(start?: number, end?: number): string;
  utf8Slice(start?: number, end?: number): string;
  latin1Write(text: string, offset?: number, length?: number): number;
  utf8Write(text: string, offset?: number, length?: number): number;
  hexWrite(text: string, offset?: number, length?: number): number;
}
