# A zoned null_blk device in memory: 4 conventional zones and 28 sequential ones of 1 MiB, 14 open and active
# gives: nullzoned-small
# modules: null_blk configfs

up() { zoned_null_blk nullzoned-small 32 1 4; }

down() { remove_null_blk nullzoned-small; }
