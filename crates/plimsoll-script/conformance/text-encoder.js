/* { "does": "TextEncoder and TextDecoder", "console": ["195,164 ä utf-8", "a\ufffd TypeError"] } */
export default function () {
  const bytes = new TextEncoder().encode('ä');
  console.log(bytes.join(), new TextDecoder().decode(bytes), new TextDecoder().encoding);
  const broken = new Uint8Array([97, 255]);
  let refused;
  try { new TextDecoder('utf-8', { fatal: true }).decode(broken); } catch (e) { refused = e.name; }
  console.log(new TextDecoder().decode(broken), refused);
}
