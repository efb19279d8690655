import type { JSX } from 'preact';
import type { RuleCountsBody } from '../../../../contract/wire-types.ts';
import { Pane } from '../../components/pane.tsx';
import { Text } from '../../components/text.tsx';
import { countOf, formatCount, formatShare, asWords } from '../../format.ts';
import { useLink } from '../../url-state.ts';
import { visibleText } from '../../visible-text.ts';
import type { RuleRow } from './rule-rows.ts';

type Settings = RuleRow['rule']['event_types'][number];

/** One rule: what it finds, its exceptions, its settings, and its effect. */
export function RulePane({
  row: { rule, day, week },
  examined,
  closeHref,
}: {
  readonly row: RuleRow;
  readonly examined: RuleCountsBody['examined'] | undefined;
  readonly closeHref: string;
}): JSX.Element {
  const link = useLink();
  const { reason, family, sentence, what_quiets_it: quiets, event_types: events } = rule;
  return (
    <Pane title={visibleText(reason)} closeHref={closeHref}>
      <div class="stack">
        <p>
          <Text value={sentence} charactersMax={400} />
        </p>
        <p>
          <a href={link('/dashboard/decisions', { q: `reason:${reason}`, range: '7d' })}>Decisions with this reason</a>
        </p>
        <dl class="facts">
          <Fact name="Family" value={asWords(family)} />
          <Fact name="Exceptions" value={quiets === '' ? 'none' : quiets} />
        </dl>
        <SettingsTable title="Settings" settings={rule} />
        {events.map((settings) => (
          <SettingsTable
            key={settings.event_type}
            title={`For ${visibleText(settings.event_type)}`}
            settings={settings}
          />
        ))}
        <section aria-label="What it did">
          <h3>What it did</h3>
          <dl class="facts">
            <Fact name="Hits, 24 h" value={formatCount(day?.hits ?? 0)} />
            <Fact name="Hits, 7 d" value={formatCount(week?.hits ?? 0)} />
            <Fact name="Decisive" value={countOf(week?.decisive ?? 0, 'decision')} />
            <Fact name="Alone" value={countOf(week?.alone ?? 0, 'decision')} />
            <Fact
              name="Verdicts"
              value={
                week === null
                  ? 'none'
                  : `${week.verdicts.fraud} fraud, ${week.verdicts.legitimate} legitimate, ${week.verdicts.unsure} unsure`
              }
            />
            <Fact
              name="Labels"
              value={week === null ? 'none' : `${week.labels.fraud} fraud, ${week.labels.legitimate} legitimate`}
            />
          </dl>
          <p class="muted small">
            Decisive: the decision would be milder without it. Alone: it was also the only reason.
            {examined?.is_truncated === true &&
              ` Counted over the newest ${formatCount(examined.decisions)} decisions of 7 days.`}
          </p>
        </section>
      </div>
    </Pane>
  );
}

function SettingsTable({
  title,
  settings: { enabled, levels, thresholds },
}: {
  readonly title: string;
  readonly settings: Pick<Settings, 'enabled' | 'levels' | 'thresholds'>;
}): JSX.Element {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl class="facts">
        <Fact name="State" value={enabled ? 'on' : 'off'} />
        {Object.entries(levels).map(([level, weight]) => (
          <Fact
            key={level}
            name={level === 'default' ? 'Weight' : `Weight, ${level}`}
            value={`${weight} (${formatShare(weight, 1)} of the way to 100)`}
          />
        ))}
        {Object.entries(thresholds).map(([name, value]) => (
          <Fact key={name} name={name} value={String(value)} />
        ))}
      </dl>
    </section>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }): JSX.Element {
  return (
    <div>
      <dt>{visibleText(name)}</dt>
      <dd>
        <Text value={value} charactersMax={400} />
      </dd>
    </div>
  );
}
