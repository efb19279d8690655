import type { JSX } from 'preact';
import type { ModelRowsBody } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { countOf, formatCount, formatPercent } from '../../format.ts';
import { useLink } from '../../url-state.ts';
import { useLive } from '../../use-live.ts';
import { visibleText } from '../../visible-text.ts';

/** Choice: with fewer verdicts their share of fraud says nothing about the next ones. */
const VERDICTS_MIN = 20;
const MORE = 50;

/** What further verdicts would add for a model, if as many of them are fraud as of those before. Nothing while that is not known. */
export function VerdictWorth(): JSX.Element | null {
  const { data } = useLive<ModelRowsBody>(v1('/models/rows'));
  const link = useLink();
  const ages = data?.by_source.find(({ source }) => source === 'review')?.ages;
  if (data === undefined || ages === undefined) return null;
  const [week, month, older] = [ages.week, ages.month, ages.older];
  const fraud = week.fraud + month.fraud + older.fraud;
  const verdicts = fraud + week.legitimate + month.legitimate + older.legitimate;
  if (verdicts < VERDICTS_MIN) return null;
  return (
    <p class="muted">
      {formatPercent(fraud / verdicts)} of {countOf(verdicts, 'verdict')} were fraud. If the next {MORE} are alike, they
      add up to {formatCount(Math.round((MORE * fraud) / verdicts))} known fraud sessions to the{' '}
      {formatCount(data.fraud_sessions)} that <a href={link('/dashboard/models')}>a model</a> could learn from.
      {data.missing.length > 0 && ` Missing now: ${data.missing.map(visibleText).join(', ')}.`}
    </p>
  );
}
