<?php
// Stubs of WordPress and WooCommerce, with their names and arguments. Checks out once for each case: url|key|mode|paid or failed. Prints the
// errors of the form and the status of the order.

$hooks = [];
function add_action(string $name, callable $run, int $priority = 10, int $arguments = 1): void
{
    $GLOBALS['hooks'][$name] = [$run, $arguments];
}
function add_filter(string $name, callable $run, int $priority = 10, int $arguments = 1): void
{
    add_action($name, $run, $priority, $arguments);
}
function run(string $name, ...$arguments): mixed
{
    [$run, $count] = $GLOBALS['hooks'][$name];
    return $run(...array_slice($arguments, 0, $count));
}
function get_woocommerce_currency(): string
{
    return 'EUR';
}

class Store
{
    public array $values = [];
    public array $notes = [];
    public function get(string $name): mixed
    {
        return $this->values[$name] ?? null;
    }
    public function set(string $name, mixed $value): void
    {
        $this->values[$name] = $value;
    }
    public function get_customer_id(): string
    {
        return 'customer';
    }
    public function get_meta(string $name): mixed
    {
        return $this->values[$name] ?? '';
    }
    public function update_meta_data(string $name, mixed $value): void
    {
        $this->values[$name] = $value;
    }
    public function add_order_note(string $note): void
    {
        $this->notes[] = $note;
    }
    public function save(): void
    {
    }
    public function has_errors(): bool
    {
        return $this->notes !== [];
    }
    public function add(string $code, string $message): void
    {
        $this->notes[] = $code;
    }
    public function get_total(string $context): string
    {
        return '19.90';
    }
}
function WC(): object
{
    static $shop = null;
    return $shop ??= (object) ['session' => new Store(), 'cart' => new Store()];
}
function wc_get_order(int $id): Store
{
    return $GLOBALS['order'];
}

[$url, $key, $mode, $end] = explode('|', $argv[1]);
define('GATEHOUSE_URL', $url);
define('GATEHOUSE_KEY', $key);
define('GATEHOUSE_ENFORCE', $mode === 'enforce');
$_SERVER['REMOTE_ADDR'] = '81.2.69.160';
require __DIR__ . '/gatehouse-woocommerce.php';

$errors = new Store();
run('woocommerce_after_checkout_validation', ['billing_email' => 'anna@example.com', 'billing_country' => 'DE'], $errors);
if ($errors->has_errors()) {
    exit("refused\n");
}
$order = new Store();
run('woocommerce_checkout_order_created', $order);
echo $end === 'paid' ? run('woocommerce_payment_complete_order_status', 'processing', 1, $order) : 'failed', "\n";
run($end === 'paid' ? 'woocommerce_payment_complete' : 'woocommerce_order_status_failed', 1);
