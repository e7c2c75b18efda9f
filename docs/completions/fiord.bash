# Completion of fiord for bash, made by `cargo xtask docs`.
_fiord() {
    local cur=${COMP_WORDS[COMP_CWORD]} option= words= others=
    # bash splits words at the equals sign.
    if [[ $cur == = ]]; then
        option=${COMP_WORDS[COMP_CWORD-1]} cur=
    elif (( COMP_CWORD > 1 )) && [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then
        option=${COMP_WORDS[COMP_CWORD-2]}
    fi
    case $option in
        --kb_base) words="1024 1000" ;;
        --unit_base) words="0 8 1" ;;
        --clocksource) words="gettimeofday clock_gettime cpu" ;;
        --gtod_reduce) words="0 1" ;;
        --unique_filename) words="0 1" ;;
        --filetype) words="none file block char" ;;
        --lockfile) words="none exclusive readwrite" ;;
        --file_service_type) words="random zipf pareto normal gauss roundrobin sequential" ;;
        --create_serialize) words="0 1" ;;
        --create_fsync) words="0 1" ;;
        --create_on_open) words="0 1" ;;
        --create_only) words="0 1" ;;
        --allow_file_create) words="0 1" ;;
        --allow_mounted_write) words="0 1" ;;
        --pre_read) words="0 1" ;;
        --unlink) words="0 1" ;;
        --unlink_each_loop) words="0 1" ;;
        --zonemode) words="none strided zbd" ;;
        --read_beyond_wp) words="0 1" ;;
        --ignore_zone_limits) words="0 1" ;;
        --recover_zbd_write_error) words="0 1" ;;
        --write_zone_remainder) words="0 1" ;;
        --write_zone_remainders) words="0 1" ;;
        --direct) words="0 1" ;;
        --buffered) words="0 1" ;;
        --atomic) words="0 1" ;;
        --rw) words="read write trim randread randwrite randtrim rw readwrite randrw trimwrite randtrimwrite" ;;
        --readwrite) words="read write trim randread randwrite randtrim rw readwrite randrw trimwrite randtrimwrite" ;;
        --rw_sequencer) words="sequential identical" ;;
        --unified_rw_reporting) words="none mixed both 0 1 2" ;;
        --randrepeat) words="0 1" ;;
        --allrandrepeat) words="0 1" ;;
        --fallocate) words="none native posix keep truncate 0 1" ;;
        --fadvise_hint) words="0 1 random sequential noreuse" ;;
        --write_hint) words="none short medium long extreme" ;;
        --random_distribution) words="random zipf pareto normal zoned zoned_abs sequence" ;;
        --random_sequence_stride) words="0 1" ;;
        --softrandommap) words="0 1" ;;
        --random_generator) words="tausworthe lfsr tausworthe64" ;;
        --sprandom) words="0 1" ;;
        --sync_file_range) words="wait_before write wait_after" ;;
        --overwrite) words="0 1" ;;
        --end_fsync) words="0 1" ;;
        --end_syncfs) words="0 1" ;;
        --fsync_on_close) words="0 1" ;;
        --invalidate) words="0 1" ;;
        --sync) words="none 0 sync 1 dsync" ;;
        --bs_is_seq_rand) words="0 1" ;;
        --scramble_buffers) words="0 1" ;;
        --buffer_crc) words="0 1" ;;
        --dedupe_mode) words="repeat working_set" ;;
        --dedupe_global) words="0 1" ;;
        --mem) words="malloc shm shmhuge mmap mmapshared mmaphuge cudamalloc" ;;
        --iomem) words="malloc shm shmhuge mmap mmapshared mmaphuge cudamalloc" ;;
        --file_append) words="0 1" ;;
        --fill_device) words="0 1" ;;
        --fill_fs) words="0 1" ;;
        --ioengine) words="psync sync vsync pvsync pvsync2 libaio aio linuxaio io_uring io_uring_cmd posixaio mmap splice sg libzbc null sim net netsplice cpuio rdma falloc ftruncate e4defrag rados rbd http gfapi gfapi_async mtd dev-dax libpmem libiscsi nbd nfs libhdfs dfs xnvme libblkio libcufile libhipfile ime_psync ime_psyncv ime_aio exec page_fault external filecreate filestat filedelete dircreate dirstat dirdelete" ;;
        --fdp) words="0 1" ;;
        --dataplacement) words="none fdp streams" ;;
        --data_placement) words="none fdp streams" ;;
        --plid_select) words="random roundrobin scheme" ;;
        --fdp_pli_select) words="random roundrobin scheme" ;;
        --serialize_overlap) words="0 1" ;;
        --io_submit_mode) words="inline offload" ;;
        --thinktime_blocks_type) words="complete issue" ;;
        --rate_process) words="linear poisson" ;;
        --rate_ignore_thinktime) words="0 1" ;;
        --latency_run) words="0 1" ;;
        --write_iolog_at) words="issue completion" ;;
        --read_iolog_chunked) words="0 1" ;;
        --replay_no_stall) words="0 1" ;;
        --replay_beyond) words="refuse scale" ;;
        --replay_invalid) words="stop skip" ;;
        --replay_skip) words="read write trim sync" ;;
        --exit_what) words="group stonewall all" ;;
        --cpus_allowed_policy) words="shared split" ;;
        --cgroup_nodelete) words="0 1" ;;
        --verify) words="0 md5 crc64 crc32 crc32c-intel crc32c crc16 crc7 sha1 sha256 sha512 sha3-224 sha3-256 sha3-384 sha3-512 xxhash meta pattern pattern_hdr null fiord" ;;
        --do_verify) words="0 1" ;;
        --verify_policy) words="completed fsynced" ;;
        --verify_fatal) words="0 1" ;;
        --verify_dump) words="0 1" ;;
        --experimental_verify) words="0 1" ;;
        --verify_state_load) words="0 1" ;;
        --verify_state_save) words="0 1" ;;
        --verify_write_sequence) words="0 1" ;;
        --verify_header_seed) words="0 1" ;;
        --trim_verify_zero) words="0 1" ;;
        --verify_complete) words="0 1" ;;
        --steadystate) words="iops iops_slope bw bw_slope lat lat_slope pts" ;;
        --ss) words="iops iops_slope bw bw_slope lat lat_slope pts" ;;
        --core_bandwidth) words="0 1" ;;
        --stats) words="0 1" ;;
        --per_job_logs) words="0 1" ;;
        --log_window_value) words="avg max both 0 1" ;;
        --log_max_value) words="avg max both 0 1" ;;
        --log_offset) words="0 1" ;;
        --log_prio) words="0 1" ;;
        --log_issue_time) words="0 1" ;;
        --log_store_compressed) words="0 1" ;;
        --log_format) words="text compact" ;;
        --log_empty) words="0 1" ;;
        --log_alternate_epoch) words="0 1" ;;
        --log_unix_epoch) words="0 1" ;;
        --block_error_percentiles) words="0 1" ;;
        --disk_util) words="0 1" ;;
        --generator_shares) words="0 1" ;;
        --clat_percentiles) words="0 1" ;;
        --lat_percentiles) words="0 1" ;;
        --slat_percentiles) words="0 1" ;;
        --disable_lat) words="0 1" ;;
        --disable_clat) words="0 1" ;;
        --disable_slat) words="0 1" ;;
        --disable_bw_measurement) words="0 1" ;;
        --disable_bw) words="0 1" ;;
        --ignore_findings) words="aio-threads bad-data buffered-not-synced cache-hits cache-under-direct cached-working-set clock-error clock-source compressible-data connection-per-request contents-cost dentry-cache depth-ignored depth-not-reached device-errors direct-not-direct doubtful-job drive-letter empty-zones ended-in-ramp existing-names file-extended generator-bound governor hidden-stalls host-lost host-straggler hosts-differ link-degraded log-bound log-on-target loopback misaligned no-data-moved no-effect noisy-neighbour not-preconditioned not-steady nothing-verified numa offloads-off overlapping-writers oversubscribed-path peer-limited rate-and-rwmix rate-missed reads-beyond-pointer replay-late run-warning same-start-offset scheduler server-throttling shared-target size-per-job slow-name-lookup space-reserved spec-exceeded spec-missed split-or-merged start-skew submission-blocks target-in-use thermal-throttle throttled-by-cgroup tls-handshakes too-short unanswered-requests uneven-targets unit-surprise unwritten-data value-adjusted volatile-cache window-limited zero-data zeroes-written zone-limits" ;;
        --continue_on_error) words="none read write io verify all 0 1" ;;
        --error_dump) words="0 1" ;;
        --profile) words="tiobench act vioperf" ;;
        --nowait) words="0 1" ;;
        --pmem_force) words="0 1" ;;
        --libaio_vectored) words="0 1" ;;
        --readfua) words="0 1" ;;
        --writefua) words="0 1" ;;
        --verify_mode) words="read compare" ;;
        --cmd_type) words="nvme bsg" ;;
        --cdb_len) words="0 10 16 32" ;;
        --verify_bytchk) words="0 1 3" ;;
        --read_mode) words="read prefetch" ;;
        --pi_act) words="0 1" ;;
        --deac) words="0 1" ;;
        --nvme_split) words="0 1" ;;
        --sg_write_mode) words="write write_and_verify verify write_same same write_same_ndob verify_bytchk_00 verify_bytchk_01 verify_bytchk_11 write_stream" ;;
        --sim_latency) words="constant uniform normal exponential lognormal" ;;
        --sim_read_latency) words="constant uniform normal exponential lognormal" ;;
        --sim_write_latency) words="constant uniform normal exponential lognormal" ;;
        --sim_trim_latency) words="constant uniform normal exponential lognormal" ;;
        --sim_sync_latency) words="constant uniform normal exponential lognormal" ;;
        --sim_store) words="0 1" ;;
        --sim_real_time) words="0 1" ;;
        --cpumode) words="noop qsort" ;;
        --exit_on_io_done) words="0 1" ;;
        --std_redirect) words="0 1" ;;
        --stat_type) words="stat lstat statx" ;;
        --via_uring) words="0 1" ;;
        --tree_leaves_only) words="0 1" ;;
        --tree_per_job) words="0 1" ;;
        --skip_bad) words="0 1" ;;
        --protocol) words="tcp tcpv6 udp udpv6 unix vsock" ;;
        --proto) words="tcp tcpv6 udp udpv6 unix vsock" ;;
        --nodelay) words="0 1" ;;
        --verb) words="write read send recv" ;;
        --https) words="off on insecure" ;;
        --http_mode) words="webdav s3 swift" ;;
        --http_object_mode) words="block range" ;;
        --http_read) words="get head list" ;;
        --busy_poll) words="0 1" ;;
        --touch_objects) words="0 1" ;;
        --cuda_io) words="cufile posix" ;;
        --rocm_io) words="hipfile posix" ;;
        --xnvme_async) words="emu thrpool io_uring io_uring_cmd libaio posix vfio nil" ;;
        --xnvme_sync) words="nvme psync block" ;;
        --xnvme_admin) words="nvme block" ;;
        --xnvme_mem) words="posix hugepage spdk vfio" ;;
        --libblkio_driver) words="io_uring nvme-io_uring virtio-blk-vfio-pci virtio-blk-vhost-user virtio-blk-vhost-vdpa" ;;
        --libblkio_wait_mode) words="block eventfd loop" ;;
    esac
    local job_options="
        --debug=
        --parse-only
        --merge-blktrace-only
        --output=
        --bandwidth-log=
        --minimal
        --output-format=
        --html=
        --append-terse=
        --terse-version=
        --version
        --help
        --cpuclock-test
        --crctest=
        --cmdhelp=
        --enghelp=
        --showcmd
        --eta=
        --eta-newline=
        --eta-interval=
        --live
        --status-interval=
        --series=
        --series-format=
        --series-interval=
        --metrics=
        --metrics-linger=
        --readonly
        --no-exec
        --section=
        --alloc-size=
        --warnings-fatal
        --findings=
        --ceiling
        --max-jobs=
        --server=
        --daemonize=
        --policy=
        --keys=
        --insecure
        --client=
        --remote-config=
        --hosts=
        --hostsfile=
        --ranks
        --hosts-data=
        --on-lost=
        --ssh=
        --remote-fiord=
        --idle-prof=
        --inflate-log=
        --trigger-file=
        --trigger-timeout=
        --trigger=
        --trigger-remote=
        --aux-path=
        --latency-log=
        --kb_base=
        --unit_base=
        --name=
        --description=
        --loops=
        --numjobs=
        --runtime=
        --timeout=
        --time_based
        --startdelay=
        --ramp_time=
        --ramp_size=
        --clocksource=
        --gtod_reduce=
        --gtod_cpu=
        --job_start_clock_id=
        --directory=
        --filename=
        --filename_format=
        --unique_filename=
        --filetype=
        --opendir=
        --lockfile=
        --nrfiles=
        --nr_files=
        --openfiles=
        --file_service_type=
        --ioscheduler=
        --create_serialize=
        --create_fsync=
        --create_on_open=
        --create_only=
        --allow_file_create=
        --allow_mounted_write=
        --pre_read=
        --unlink=
        --unlink_each_loop=
        --zonemode=
        --zonerange=
        --zonesize=
        --zonecapacity=
        --zoneskip=
        --read_beyond_wp=
        --max_open_zones=
        --job_max_open_zones=
        --ignore_zone_limits=
        --zone_reset_threshold=
        --zone_reset_frequency=
        --recover_zbd_write_error=
        --write_zone_remainder=
        --write_zone_remainders=
        --direct=
        --buffered=
        --atomic=
        --rw=
        --readwrite=
        --rw_sequencer=
        --rwmixread=
        --rwmixwrite=
        --unified_rw_reporting=
        --randrepeat=
        --allrandrepeat=
        --randseed=
        --fallocate=
        --fadvise_hint=
        --write_hint=
        --random_distribution=
        --random_sequence_stride=
        --percentage_random=
        --norandommap
        --softrandommap=
        --random_generator=
        --sprandom=
        --spr_num_regions=
        --spr_op=
        --spr_cs=
        --fsync=
        --fdatasync=
        --write_barrier=
        --sync_file_range=
        --overwrite=
        --end_fsync=
        --end_syncfs=
        --fsync_on_close=
        --invalidate=
        --sync=
        --bs=
        --blocksize=
        --bsrange=
        --blocksize_range=
        --bssplit=
        --bs_unaligned
        --blocksize_unaligned
        --bs_is_seq_rand=
        --ba=
        --blockalign=
        --zero_buffers
        --refill_buffers
        --scramble_buffers=
        --buffer_crc=
        --buffer_pattern=
        --buffer_compress_percentage=
        --buffer_compress_chunk=
        --dedupe_percentage=
        --dedupe_mode=
        --dedupe_working_set_percentage=
        --dedupe_global=
        --mem=
        --iomem=
        --iomem_align=
        --mem_align=
        --hugepage-size=
        --lockmem=
        --size=
        --io_size=
        --io_limit=
        --filesize=
        --file_append=
        --fill_device=
        --fill_fs=
        --space_reserve=
        --offset=
        --fileoffset=
        --offset_align=
        --offset_increment=
        --number_ios=
        --ioengine=
        --num_range=
        --fdp=
        --dataplacement=
        --data_placement=
        --plid_select=
        --fdp_pli_select=
        --plids=
        --fdp_pli=
        --dp_scheme=
        --iodepth=
        --iodepth_batch=
        --iodepth_batch_submit=
        --iodepth_batch_complete_min=
        --iodepth_batch_complete=
        --iodepth_batch_complete_max=
        --iodepth_low=
        --serialize_overlap=
        --io_submit_mode=
        --thinktime=
        --thinktime_spin=
        --thinkcycles=
        --thinktime_blocks=
        --thinktime_blocks_type=
        --thinktime_iotime=
        --rate=
        --rate_min=
        --ratemin=
        --rate_iops=
        --rate_iops_min=
        --rate_process=
        --rate_cycle=
        --ratecycle=
        --rate_ignore_thinktime=
        --latency_target=
        --latency_window=
        --latency_percentile=
        --latency_run=
        --max_latency=
        --write_iolog=
        --write_iolog_at=
        --read_iolog=
        --read_iolog_chunked=
        --replay_no_stall=
        --replay_redirect=
        --replay_map=
        --replay_scale=
        --replay_align=
        --replay_beyond=
        --replay_invalid=
        --replay_time_scale=
        --replay_skip=
        --merge_blktrace_file=
        --merge_blktrace_scalars=
        --merge_blktrace_iters=
        --thread
        --wait_for=
        --stonewall
        --wait_for_previous
        --exitall
        --exit_what=
        --comm=
        --nice=
        --prio=
        --prioclass=
        --priohint=
        --cpumask=
        --cpus_allowed=
        --cpus_allowed_policy=
        --numa_cpu_nodes=
        --numa_mem_policy=
        --cgroup=
        --cgroup_weight=
        --cgroup_nodelete=
        --flow_id=
        --flow=
        --flow_sleep=
        --flow_watermark=
        --exec_prerun=
        --exec_postrun=
        --uid=
        --gid=
        --verify=
        --verify_only
        --do_verify=
        --verify_policy=
        --verify_interval=
        --verify_offset=
        --verify_pattern=
        --verify_pattern_interval=
        --verify_fatal=
        --verify_dump=
        --verify_async=
        --verify_async_cpus=
        --verify_backlog=
        --verify_backlog_batch=
        --experimental_verify=
        --verify_state_load=
        --verify_state_save=
        --verify_write_sequence=
        --verify_header_seed=
        --trim_percentage=
        --trim_verify_zero=
        --trim_backlog=
        --trim_backlog_batch=
        --verify_extents=
        --verify_complete=
        --verify_journal=
        --verifysort=
        --verifysort_nr=
        --steadystate=
        --ss=
        --steadystate_duration=
        --ss_dur=
        --steadystate_ramp_time=
        --ss_ramp=
        --steadystate_check_interval=
        --ss_interval=
        --group_reporting
        --core_bandwidth=
        --latency_limits=
        --latency_slice=
        --latency_test=
        --spec=
        --new_group
        --stats=
        --per_job_logs=
        --write_bw_log=
        --write_lat_log=
        --write_iops_log=
        --write_hist_log=
        --bwavgtime=
        --iopsavgtime=
        --log_entries=
        --log_avg_msec=
        --log_hist_msec=
        --log_hist_coarseness=
        --log_window_value=
        --log_max_value=
        --log_offset=
        --log_prio=
        --log_issue_time=
        --log_compression=
        --log_compression_cpus=
        --log_store_compressed=
        --log_format=
        --log_empty=
        --log_alternate_epoch=
        --log_unix_epoch=
        --log_alternate_epoch_clock_id=
        --block_error_percentiles=
        --disk_util=
        --generator_shares=
        --clat_percentiles=
        --lat_percentiles=
        --slat_percentiles=
        --percentile_list=
        --significant_figures=
        --disable_lat=
        --disable_clat=
        --disable_slat=
        --disable_bw_measurement=
        --disable_bw=
        --ignore_findings=
        --exitall_on_error
        --continue_on_error=
        --ignore_error=
        --error_dump=
        --profile=
        --hipri
        --hipri_percentage=
        --uncached=
        --nowait=
        --thp=
        --pmem_force=
        --userspace_reap
        --libaio_vectored=
        --fixedbufs
        --registerfiles
        --sqthread_poll
        --sqthread_poll_cpu=
        --nonvectored=
        --force_async=
        --cmdprio_percentage=
        --cmdprio_class=
        --cmdprio_hint=
        --cmdprio=
        --cmdprio_bssplit=
        --readfua=
        --writefua=
        --write_mode=
        --verify_mode=
        --cmd_type=
        --cdb_len=
        --verify_bytchk=
        --read_mode=
        --md_per_io_size=
        --pi_act=
        --pi_chk=
        --apptag=
        --apptag_mask=
        --deac=
        --nvme_split=
        --sg_write_mode=
        --stream_id=
        --sim_seed=
        --sim_size=
        --sim_latency=
        --sim_read_latency=
        --sim_write_latency=
        --sim_trim_latency=
        --sim_sync_latency=
        --sim_channels=
        --sim_error_rate=
        --sim_errors=
        --sim_short_rate=
        --sim_torn_rate=
        --sim_lost_rate=
        --sim_stall=
        --sim_stall_at=
        --sim_stall_time=
        --sim_submit_cost=
        --sim_complete_cost=
        --sim_faults=
        --sim_crash=
        --sim_store=
        --sim_record=
        --sim_real_time=
        --cpuload=
        --cpuchunks=
        --cpumode=
        --exit_on_io_done=
        --program=
        --arguments=
        --grace_time=
        --std_redirect=
        --stat_type=
        --via_uring=
        --tree_items=
        --tree_depth=
        --tree_width=
        --tree_leaves_only=
        --tree_per_job=
        --tree_shift=
        --donorname=
        --inplace=
        --skip_bad=
        --hostname=
        --port=
        --peer=
        --protocol=
        --proto=
        --nodelay=
        --listen
        --pingpong
        --interface=
        --ttl=
        --window_size=
        --mss=
        --bindname=
        --verb=
        --https=
        --http_host=
        --http_user=
        --http_pass=
        --http_s3_key=
        --http_s3_keyid=
        --http_s3_security_token=
        --http_swift_auth_token=
        --http_s3_region=
        --http_s3_sse_customer_key=
        --http_s3_sse_customer_algorithm=
        --http_s3_storage_class=
        --http_s3_part_size=
        --http_mode=
        --http_verbose=
        --http_object_mode=
        --http_ca_file=
        --http_endpoints=
        --http_read=
        --http_list_keys=
        --http_retries=
        --clustername=
        --rbdname=
        --pool=
        --clientname=
        --conf=
        --busy_poll=
        --touch_objects=
        --rbd_encryption_format=
        --rbd_encryption_passphrase=
        --endpoint_timeout=
        --volume=
        --brick=
        --initiator=
        --uri=
        --nfs_url=
        --namenode=
        --hdfsdirectory=
        --chunk_size=
        --cont=
        --object_class=
        --gpu_dev_ids=
        --cuda_io=
        --rocm_io=
        --xnvme_async=
        --xnvme_sync=
        --xnvme_admin=
        --xnvme_dev_nsid=
        --xnvme_dev_subnqn=
        --xnvme_mem=
        --xnvme_iovec=
        --libblkio_driver=
        --libblkio_path=
        --libblkio_pre_connect_props=
        --libblkio_num_entries=
        --libblkio_queue_size=
        --libblkio_pre_start_props=
        --libblkio_vectored
        --libblkio_write_zeroes_on_trim
        --libblkio_wait_mode=
        --libblkio_force_enable_completion_eventfd
    "
    local options=$job_options
    (( COMP_CWORD > 1 )) && case ${COMP_WORDS[1]} in
        check)
            options="--format= --help"
            options+=" $job_options"
            case $option in
                --format) words="normal json" ;;
            esac
            ;;
        options)
            options="--unsupported --help"
            ;;
        compare)
            options="--vs= --noise= --metrics= --fail-if= --run-variation= --format= --output= --help"
            case $option in
                --vs) words="" ;;
                --noise) words="" ;;
                --metrics) words="" ;;
                --fail-if) words="" ;;
                --run-variation) words="" ;;
                --format) words="text json markdown html" ;;
                --output) words="" ;;
            esac
            ;;
        run)
            options="--repeat= --interleave --dir= --restart --eta= --help"
            options+=" $job_options"
            case $option in
                --repeat) words="" ;;
                --dir) words="" ;;
                --eta) words="auto always never" ;;
            esac
            ;;
        sweep)
            options="--set= --repeat= --until= --rate= --dir= --restart --format= --eta= --hosts= --hostsfile= --ssh= --remote-fiord= --client= --hosts-data= --keys= --insecure --help"
            options+=" $job_options"
            case $option in
                --set) words="" ;;
                --repeat) words="" ;;
                --until) words="saturated" ;;
                --rate) words="" ;;
                --dir) words="" ;;
                --format) words="table json csv" ;;
                --eta) words="auto always never" ;;
                --hosts) words="" ;;
                --hostsfile) words="" ;;
                --ssh) words="" ;;
                --remote-fiord) words="" ;;
                --client) words="" ;;
                --hosts-data) words="" ;;
                --keys) words="" ;;
            esac
            ;;
        skew)
            options="--distribution= --size= --bs= --format= --help"
            case $option in
                --distribution) words="" ;;
                --size) words="" ;;
                --bs) words="" ;;
                --format) words="normal json" ;;
            esac
            ;;
        log)
            options="--show= --format= --window= --percentiles= --kind= --skip-invalid --convert= --output= --help"
            case $option in
                --show) words="summary time plot heatmap" ;;
                --format) words="table csv json svg" ;;
                --window) words="" ;;
                --percentiles) words="" ;;
                --kind) words="" ;;
                --convert) words="text fz compact" ;;
                --output) words="" ;;
            esac
            ;;
        series)
            options="--output= --format= --interval= --help"
            case $option in
                --output) words="" ;;
                --format) words="csv jsonl influx" ;;
                --interval) words="" ;;
            esac
            ;;
        live)
            options="--speed= --run= --help"
            case $option in
                --speed) words="" ;;
                --run) words="" ;;
            esac
            ;;
        zones)
            options="--range= --each --format= --reset= --finish= --open= --close= --yes --readonly --help"
            case $option in
                --range) words="" ;;
                --format) words="table json" ;;
                --reset) words="" ;;
                --finish) words="" ;;
                --open) words="" ;;
                --close) words="" ;;
            esac
            ;;
        suite)
            options="--set= --runtime= --ramp-time= --dry-run --yes --readonly --dir= --restart --format= --eta= --help"
            options+=" $job_options"
            case $option in
                --set) words="" ;;
                --runtime) words="" ;;
                --ramp-time) words="" ;;
                --dir) words="" ;;
                --format) words="table json" ;;
                --eta) words="auto always never" ;;
            esac
            ;;
        devices)
            options="--tree --long --all --format= --root= --help"
            case $option in
                --format) words="normal json" ;;
                --root) words="" ;;
            esac
            ;;
        precondition)
            options="--random --round= --limit= --passes= --yes --dry-run --restart --state= --format= --output= --hosts= --hostsfile= --ssh= --remote-fiord= --help"
            case $option in
                --round) words="" ;;
                --limit) words="" ;;
                --passes) words="" ;;
                --state) words="" ;;
                --format) words="text json" ;;
                --output) words="" ;;
                --hosts) words="" ;;
                --hostsfile) words="" ;;
                --ssh) words="" ;;
                --remote-fiord) words="" ;;
            esac
            ;;
        verify)
            options="--journal= --later= --format= --extents= --same-target --atomic-unit= --hosts= --hostsfile= --ssh= --remote-fiord= --help"
            case $option in
                --journal) words="" ;;
                --later) words="" ;;
                --format) words="table json" ;;
                --extents) words="" ;;
                --atomic-unit) words="" ;;
                --hosts) words="" ;;
                --hostsfile) words="" ;;
                --ssh) words="" ;;
                --remote-fiord) words="" ;;
            esac
            ;;
        powercut)
            options="--cut= --restore= --rounds= --after= --linger= --wait= --earlier= --seed= --stop --dir= --resume= --restart --yes --format= --eta= --help"
            options+=" $job_options"
            case $option in
                --cut) words="" ;;
                --restore) words="" ;;
                --rounds) words="" ;;
                --after) words="" ;;
                --linger) words="" ;;
                --wait) words="" ;;
                --earlier) words="" ;;
                --seed) words="" ;;
                --dir) words="" ;;
                --resume) words="" ;;
                --format) words="table json" ;;
                --eta) words="auto always never" ;;
            esac
            ;;
        trace)
            options="--format= --job= --skip-invalid --longest-gap= --help"
            options+=" $job_options"
            case $option in
                --format) words="table json" ;;
                --job) words="" ;;
                --longest-gap) words="" ;;
            esac
            ;;
        report)
            options="--output= --help"
            case $option in
                --output) words="" ;;
            esac
            ;;
        keys)
            options="--keys= --help"
            others="create show trust forget"
            case $option in
                --keys) words="" ;;
            esac
            ;;
        help)
            options="--help"
            others="check options compare run sweep skew log series live zones suite devices precondition verify powercut trace report keys help"
            ;;
    esac
    (( COMP_CWORD == 1 )) && others="check options compare run sweep skew log series live zones suite devices precondition verify powercut trace report keys help"
    if [[ -n $words ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    elif [[ -z $option && $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <([[ -z $option ]] && compgen -W "$others" -- "$cur"; compgen -f -- "$cur")
    fi
}
complete -F _fiord fiord
