import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ConnectorRow, ExtractionCreatedBody, OperationBody, WirePage } from '../../../../contract/wire-types.ts';
import { type ApiFault, send, toFault, v1 } from '../../api.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { Button, Field, Select } from '../../components/fields.tsx';
import { Section } from '../../components/pane.tsx';
import { ShownOnceDialog } from '../../components/shown-once-dialog.tsx';
import { FaultView, StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { toast } from '../../components/toast.tsx';
import { isReadOnly } from '../../session.ts';
import { useUrlState } from '../../url-state.ts';
import { useLive } from '../../use-live.ts';
import { cutText, visibleText } from '../../visible-text.ts';
import { WatchButton } from '../watches/watch-button.tsx';
import {
  DELIVERY_START,
  DeliveryForm,
  type DeliveryFormState,
  toDelivery,
  VARIABLE_MARK,
  withoutSecrets,
  withPlaceholders,
} from './delivery-form.tsx';
import { fieldsOf, toInput, type Typed, typedOf } from './schema-fields.ts';
import { SchemaForm } from './schema-form.tsx';
import { SelectTrial } from './select-trial.tsx';

const LIMIT_DEFAULT = '100';

/** The catalogue, and a form for the chosen operation. Connector and operation are in the URL. */
export function NewJob({ onStarted }: { readonly onStarted: (id: string) => void }): JSX.Element {
  const url = useUrlState();
  const found = useLive<WirePage<ConnectorRow>>(v1('/connectors', { limit: 100 }));
  return (
    <Section title="New extraction" note="Pulls records from a source, within its terms and robots.txt">
      <StateView of={found} skeleton="rows">
        {({ data: connectors }) => {
          const connector = connectors.find(({ id }) => id === url.get('c')) ?? connectors[0];
          const operation =
            connector?.operations.find(({ name }) => name === url.get('op')) ?? connector?.operations[0];
          if (connector === undefined || operation === undefined) return null;
          return (
            <div class="stack">
              <div class="columns">
                <Select
                  label="Connector"
                  value={connector.id}
                  onValue={(id) => url.set({ c: id, op: null })}
                  choices={connectors.map(({ id, title }) => ({ value: id, title: cutText(visibleText(title), 60) }))}
                />
                <Select
                  label="Operation"
                  value={operation.name}
                  onValue={(name) => url.set({ c: connector.id, op: name })}
                  choices={connector.operations.map(({ name }) => ({
                    value: name,
                    title: cutText(visibleText(name), 60),
                  }))}
                />
              </div>
              <Terms connector={connector} operation={operation} />
              <OperationForm
                key={`${connector.id} ${operation.name}`}
                connector={connector}
                operation={operation}
                onStarted={onStarted}
              />
            </div>
          );
        }}
      </StateView>
    </Section>
  );
}

function Terms({
  connector,
  operation,
}: {
  readonly connector: ConnectorRow;
  readonly operation: OperationBody;
}): JSX.Element {
  return (
    <div class="stack-small">
      <p>
        <Text value={operation.description} charactersMax={600} />
      </p>
      <p class="muted small">
        <Text value={connector.rate_policy} charactersMax={400} />
        {connector.attribution !== null && (
          <>
            {' '}
            Attribution: <Text value={connector.attribution} charactersMax={300} />
          </>
        )}
        {connector.terms_url !== null && (
          <>
            {' '}
            Terms: <Text value={connector.terms_url} />
          </>
        )}
      </p>
    </div>
  );
}

function OperationForm({
  connector,
  operation,
  onStarted,
}: {
  readonly connector: ConnectorRow;
  readonly operation: OperationBody;
  readonly onStarted: (id: string) => void;
}): JSX.Element {
  const fields = useMemo(() => fieldsOf(operation.input_schema), [operation]);
  const [typed, setTyped] = useState<Typed>({});
  const [limit, setLimit] = useState(LIMIT_DEFAULT);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<ApiFault | null>(null);
  const [delivery, setDelivery] = useState(DELIVERY_START);
  const [isTried, setTried] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const input = useMemo(() => toInput(fields, typed), [fields, typed]);
  const target = useMemo(() => toDelivery(delivery), [delivery]);
  useEffect(() => setFault(null), [typed, limit]);
  const errors = errorsAt(fault, /^\/input\/([^/]+)/);
  if (input.kind === 'fault') errors.set(input.name, input.message);
  const deliveryErrors = errorsAt(fault, /^\/delivery\/(?:destination\/)?([^/]+)/);
  // Fields that are still empty are no mistake before somebody has tried to start.
  if (target.kind === 'fault' && isTried) deliveryErrors.set(target.name, target.message);
  const bodyWith = (state: DeliveryFormState): Readonly<Record<string, unknown>> => {
    const to = toDelivery(state);
    return {
      connector: connector.id,
      operation: operation.name,
      input: input.kind === 'input' ? input.input : {},
      collect: limit.trim() === '' ? { mode: 'all' } : { mode: 'limit', limit: Number(limit) },
      ...(to.kind === 'delivery' && to.delivery !== null ? { delivery: to.delivery } : {}),
    };
  };
  const changeDelivery = (state: DeliveryFormState): void => {
    setDelivery(state);
    setFault(null);
  };
  const run = async (): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      const sent = send<ExtractionCreatedBody>('POST', v1('/extractions'), bodyWith(delivery), {
        headers: { 'Idempotency-Key': crypto.randomUUID() },
      });
      setDelivery(withoutSecrets(delivery));
      setTried(false);
      const made = await sent;
      toast('The extraction is queued');
      setSecret(made.delivery?.secret ?? null);
      onStarted(made.id);
    } catch (error) {
      setFault(toFault(error));
    }
    setBusy(false);
  };
  return (
    <>
      <form
        class="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (input.kind === 'input' && target.kind === 'delivery') void run();
        }}
      >
        <div class="columns">
          <SchemaForm fields={fields} typed={typed} errors={errors} onTyped={setTyped} />
          <Field
            label="Records"
            type="number"
            min={1}
            max={100_000}
            value={limit}
            onValue={setLimit}
            hint="At most this many. Empty: all of them."
          />
        </div>
        <DeliveryForm state={delivery} errors={deliveryErrors} onState={changeDelivery} />
        {fault !== null && <FaultView fault={fault} />}
        <div class="row">
          <Button type="submit" kind="primary" disabled={isBusy || input.kind === 'fault' || isReadOnly()}>
            {isBusy ? 'Starting…' : 'Start'}
          </Button>
          <Button onClick={() => setTyped(typedOf(operation.example.input))}>Fill in the example</Button>
          <span class="muted small">
            <Text value={operation.paging} charactersMax={200} />
          </span>
        </div>
        <details>
          <summary>The same as an API call</summary>
          <CodeBlock text={commandOf(bodyWith(withPlaceholders(delivery)))} label="Call" wrap />
        </details>
        {secret !== null && (
          <ShownOnceDialog
            title="The secret of the deliveries"
            secrets={[{ label: 'Secret', text: secret }]}
            onClose={() => setSecret(null)}
          >
            Store it where the receiver of the records reads it, to check their signatures. No later call shows it.
          </ShownOnceDialog>
        )}
      </form>
      {/* Outside: its dialog is a form, whose submit would start a job. */}
      {input.kind === 'input' && (
        <div class="stack-small">
          {operation.name.endsWith('.select') && <SelectTrial input={input.input} />}
          <div class="row">
            <WatchButton extraction={bodyWith(DELIVERY_START)} />
          </div>
        </div>
      )}
    </>
  );
}

/** Messages of a problem by the name of the field that the pointer names. */
function errorsAt(fault: ApiFault | null, form: RegExp): Map<string, string> {
  const errors = new Map<string, string>();
  for (const { pointer, message } of fault?.errors ?? []) {
    const name = form.exec(pointer)?.[1];
    if (name !== undefined) errors.set(name, message);
  }
  return errors;
}

const VARIABLE = new RegExp(`${VARIABLE_MARK}([A-Z_]+)${VARIABLE_MARK}`, 'g');

function commandOf(body: unknown): string {
  const quoted = JSON.stringify(body).replaceAll("'", String.raw`'\''`);
  // Variables stand outside of the single quotes, so that the shell reads them.
  const json = quoted.replaceAll(VARIABLE, `'"$$$1"'`);
  return `curl -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  ${location.origin}/v1/extractions \\
  -d '${json}'`;
}
