/** A nominal type: `Brand<string, 'CustomerId'>` is a string that only the code that validated it may create. */
export type Brand<T, Name extends string> = T & { readonly __brand: Name };

/** Identifies a customer on the wire and in listings, `cus_…`. */
export type CustomerId = Brand<string, 'CustomerId'>;

/** A fingerprint in its stored form: 64 lower-case hex digits. */
export type FingerprintHash = Brand<string, 'FingerprintHash'>;

/** Number of a customer in this installation, 1 to 2^32 - 1; the prefix of all of that customer's keys in the store. */
export type CustomerNumber = Brand<number, 'CustomerNumber'>;

/** Ends a switch over a union: the compiler rejects it while a case is missing. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${String(value)}`);
}
