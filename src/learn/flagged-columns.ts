/** Columns that say which integration or which hour it is, not who is a fraud. */
const FLAGGED = /^(?:url:|referrer:|headers:|time:|agent:length$|agent:browser_age_days$|token:(?!webdriver$))/;

/** Returns those of the columns that training leaves out by default. */
export function flaggedColumns(names: readonly string[]): readonly string[] {
  return names.filter((name) => FLAGGED.test(name));
}
