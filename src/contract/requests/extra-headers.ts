import * as z from 'zod';

/** Source: contract, 10.12. */
const HEADERS_MAX = 10;
const VALUE_CHARACTERS_MAX = 1_024;
/** Choice: longer names are not in use. */
const NAME_CHARACTERS_MAX = 100;
/** Shown instead of each value. */
export const MASKED_HEADER = '****************';

/** Source: RFC 9110, 5.6.2, without names that begin with a mark. */
const NAME = /^[a-z0-9][a-z0-9!#$%&'*+.^_`|~-]*$/i;
/** Visible ASCII, with single or several spaces within. */
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
/** Headers of the service, of the body and of the connection. */
const REFUSED =
  /^(?:host|connection|keep-alive|proxy-connection|transfer-encoding|te|trailer|upgrade|expect|content-.*|x-svc-.*|webhook-.*)$/i;

/** Headers that a webhook sends beside its own, name to value. */
export const extraHeaders = z
  .record(z.string(), z.string())
  .check(checkHeaders)
  .meta({
    maxProperties: HEADERS_MAX,
    description:
      'Headers to send beside those of the service, for example `Authorization`: at most 10, values of at most 1,024 visible ASCII ' +
      'characters, stored encrypted and never shown again. Replaces all earlier ones; null or {} removes them',
  });

function checkHeaders(context: z.core.ParsePayload<Record<string, string>>): void {
  const names = Object.keys(context.value);
  const report = (message: string, name?: string): void =>
    void context.issues.push({
      code: 'custom',
      message,
      input: context.value,
      ...(name !== undefined && { path: [name] }),
    });
  if (names.length > HEADERS_MAX) {
    report(`This must have at most ${HEADERS_MAX} headers.`);
    return;
  }
  const seen = new Set<string>();
  for (const name of names) {
    const fault = nameFault(name, seen) ?? valueFault(context.value[name] ?? '');
    if (fault !== null) report(fault, name);
    seen.add(name.toLowerCase());
  }
}

function nameFault(name: string, seen: ReadonlySet<string>): string | null {
  if (!NAME.test(name) || name.length > NAME_CHARACTERS_MAX) return 'This is not the name of a header.';
  if (REFUSED.test(name)) return 'The service sets this header itself.';
  return seen.has(name.toLowerCase()) ? 'This is given twice.' : null;
}

function valueFault(value: string): string | null {
  if (value === MASKED_HEADER) return 'This is the mask of a stored value, not a value.';
  return VALUE.test(value) && value.length <= VALUE_CHARACTERS_MAX
    ? null
    : `This must be 1 to ${VALUE_CHARACTERS_MAX} visible ASCII characters, with spaces only within.`;
}
