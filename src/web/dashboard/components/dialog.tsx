import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type ApiFault, toFault } from '../api.ts';
import { Button } from './fields.tsx';
import { FaultView } from './state-view.tsx';

/** A modal dialog: the browser holds the focus inside it and closes it by Esc; the focus returns to where it was. */
export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Together with the key or click that asked for it: what is typed next belongs to the dialog. A layout effect also ends before the
  // element leaves the page, so that closing it returns the focus.
  useLayoutEffect(() => {
    const own = dialog.current;
    own?.showModal();
    return () => own?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div class="dialog-body">
        <div class="dialog-head">
          <h2 id={id}>{title}</h2>
          <Button kind="quiet" icon="close" label="Close" onClick={onClose} />
        </div>
        {children}
      </div>
    </dialog>
  );
}

/**
 * Asks before a write. `children` says what will happen and to how many (the blast radius). Stays open with the problem when the write
 * fails; closes when it succeeds.
 */
export function Confirm({
  title,
  confirm,
  danger = false,
  disabled = false,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string;
  /** The verb on the button: `Block for 30 days`. */
  readonly confirm: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<ApiFault | null>(null);
  const run = async (): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setFault(toFault(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        {children}
        {fault !== null && <FaultView fault={fault} />}
        <div class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind={danger ? 'danger' : 'primary'} disabled={isBusy || disabled}>
            {confirm}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
