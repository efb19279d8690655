<?php
/**
 * Plugin Name: Gatehouse for WooCommerce
 *
 * Copy it and examples/languages/gatehouse.php into wp-content/plugins/gatehouse-woocommerce, and into wp-config.php:
 *
 *     define('GATEHOUSE_URL', 'http://127.0.0.1:8080');
 *     define('GATEHOUSE_KEY', 'sk_live_...');
 *     define('GATEHOUSE_ENFORCE', false); // true: BLOCK refuses the order, REVIEW and SOFT_CHALLENGE hold it for a person
 *
 * It hooks the classic checkout. Behind a proxy let your server set REMOTE_ADDR (mod_remoteip, set_real_ip_from).
 */

use Gatehouse\Gatehouse;
use Gatehouse\GatehouseError;

require_once __DIR__ . '/gatehouse.php';

const GATEHOUSE_META = '_gatehouse_request_id';

function gatehouse_client(): Gatehouse
{
    static $client = null;
    return $client ??= new Gatehouse(GATEHOUSE_URL, GATEHOUSE_KEY);
}

function gatehouse_request(array $data): array
{
    return [
        'event_type' => 'payment',
        'ip' => $_SERVER['REMOTE_ADDR'] ?? null,
        'user_agent' => $_SERVER['HTTP_USER_AGENT'] ?? null,
        'session_token' => hash('sha256', 'gatehouse' . WC()->session->get_customer_id()),
        'entity_keys' => ['email' => $data['billing_email'] ?? ''],
        'attributes' => [
            'amount' => (float) WC()->cart->get_total('edit'),
            'currency' => get_woocommerce_currency(),
            'billing_country' => $data['billing_country'] ?? '',
            'shipping_country' => ($data['shipping_country'] ?? '') ?: ($data['billing_country'] ?? ''),
        ],
    ];
}

/** The last check of the form, before an order exists. */
add_action('woocommerce_after_checkout_validation', function (array $data, $errors): void {
    if ($errors->has_errors()) {
        return;
    }
    try {
        $result = gatehouse_client()->decide(gatehouse_request($data));
    } catch (GatehouseError $error) {
        error_log("gatehouse: the checkout is not protected: {$error->getMessage()}");
        return;
    }
    WC()->session->set('gatehouse', $result);
    if (GATEHOUSE_ENFORCE && $result['decision'] === 'BLOCK') {
        $errors->add('gatehouse', 'We cannot take this order. Please write to us.');
    }
}, 10, 2);

/** The order keeps the request id, so that the outcome can be reported days later. */
add_action('woocommerce_checkout_order_created', function ($order): void {
    $result = WC()->session->get('gatehouse');
    WC()->session->set('gatehouse', null);
    if (($result['request_id'] ?? null) === null) {
        return;
    }
    $order->update_meta_data(GATEHOUSE_META, $result['request_id']);
    $order->add_order_note("Gatehouse: {$result['decision']}, score {$result['score']}: " . implode(', ', $result['reasons']));
    $isHeld = GATEHOUSE_ENFORCE && in_array($result['decision'], ['REVIEW', 'SOFT_CHALLENGE'], true);
    $order->update_meta_data('_gatehouse_hold', $isHeld ? 'yes' : 'no');
    $order->save();
});

/** A held order is paid, and waits for a person before it is sent. */
add_filter('woocommerce_payment_complete_order_status', function (string $status, int $id, $order) {
    return $order->get_meta('_gatehouse_hold') === 'yes' ? 'on-hold' : $status;
}, 10, 3);

function gatehouse_report(int $id, string $outcome): void
{
    $request = wc_get_order($id)->get_meta(GATEHOUSE_META);
    if ($request !== '') {
        gatehouse_client()->outcome(['request_id' => $request], $outcome);
    }
}
add_action('woocommerce_payment_complete', fn (int $id) => gatehouse_report($id, 'succeeded'));
add_action('woocommerce_order_status_failed', fn (int $id) => gatehouse_report($id, 'declined'));
