/* { "does": "every hash of a known text", "console": ["bde52cb31de33e46245e05fbdbd6fb24", "0cc175b9c0f1b6a831c399e269772661", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", "0bdc9d2d256b3ee9daae347be6f4dc835a467ffe"] } */
import crypto from 'k6/crypto';
export default function () {
  for (const name of ['md4', 'md5', 'sha1', 'sha256', 'ripemd160']) console.log(crypto[name]('a', 'hex'));
}
